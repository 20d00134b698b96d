"""What a check found: facts, as JSON, and as the lines of one screen."""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import Any, Literal

from workbook.words import count

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of what is no letter on the screen: controls, marks of direction, half characters, ends of lines."""

Kind = Literal[
    "syntax", "import", "names", "error", "bounds", "hang", "crash",
    "no kernel", "host", "wrong", "float64", "race", "init", "sync", "budget",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Spent:
    """What was counted for one budget: `value` of what `label` says, on `case`; `at_most` is allowed."""

    label: str
    value: float
    at_most: float
    case: str

    def __str__(self) -> str:
        return f"{figure(self.value)} {self.label}, budget {figure(self.at_most)} ({self.case})"


@dataclasses.dataclass(frozen=True)
class Trouble:
    """The first thing that is wrong: `title` is one line, `lines` say more, `line` is that of the reader's file, or None."""

    kind: Kind
    title: str
    lines: tuple[str, ...] = ()
    line: int | None = None


@dataclasses.dataclass(frozen=True)
class Result:
    """`passed` says that `trouble` is None.

    printed: the last lines of what the file wrote to stdout and stderr; printed_before: how many stood above them
    """

    exercise: str
    path: str
    seed: int
    trouble: Trouble | None
    spent: tuple[Spent, ...] = ()
    cases: int = 0
    printed: tuple[str, ...] = ()
    printed_before: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.trouble is None

    def as_json(self) -> dict[str, Any]:
        return {"passed": self.passed, **dataclasses.asdict(self)}


def figure(value: float) -> str:
    """A ratio with one decimal or more, a count as it is."""
    if isinstance(value, int) or (value.is_integer() and value >= 1000):
        return f"{int(value)}"
    return f"{value:.1f}" if value >= 10 or value == round(value, 1) else f"{value:.3g}"


def screen(result: Result) -> list[str]:
    """A screen of text: first what is wrong, with the reader's line, then what the file printed."""
    trouble = result.trouble
    if trouble is None:
        lines = [f"{result.exercise}: passed, {count(result.cases, 'case')} in {result.seconds:.1f} s"]
        lines += [f"  {spent}" for spent in result.spent]
    else:
        lines = [f"{result.exercise}: {trouble.title}", *(f"  {line}" for line in trouble.lines)]
    if result.printed:
        above = [f"… {count(result.printed_before, 'line')} more above"] if result.printed_before else []
        lines += ["  the file printed:", *(f"    {line}" for line in (*above, *result.printed))]
    return [visible(line) for line in lines]


def visible(line: str) -> str:
    """With control characters as escapes, as in \\x1b: a terminal would obey them. A tab is a tab."""
    return "".join(
        letter.encode("unicode_escape").decode() if letter != "\t" and unicodedata.category(letter) in UNSEEN else letter
        for letter in line
    )
