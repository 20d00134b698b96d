"""What a check of the doctor says."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

# "note" is worth knowing and no problem; "failed" is a check that itself broke.
Status = Literal["ok", "note", "problem", "failed"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """`text` and `advice` (what to do) are one line each; `facts` are the same as plain data, for --json."""

    status: Status
    text: str
    advice: str = ""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)


Findings = Iterator[Finding]


def ok(text: str, **facts: Any) -> Finding:
    return Finding("ok", text, "", facts)


def note(text: str, advice: str = "", **facts: Any) -> Finding:
    return Finding("note", text, advice, facts)


def problem(text: str, advice: str, **facts: Any) -> Finding:
    return Finding("problem", text, advice, facts)


def one_line(error: BaseException, limit: int = 240) -> str:
    """An exception as `Type: message`, on one line."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"
