"""The end of what a file printed while it was checked, and how much came before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

LINES, BYTES = 10, 4096
CHUNK_BYTES = 1 << 20


class Printed(NamedTuple):
    """`lines`: the last ones; `before`: how many stood above them."""

    lines: tuple[str, ...] = ()
    before: int = 0


def end_of(path: Path) -> Printed:
    """Of a file that may not be there."""
    try:
        with open(path, "rb") as file:
            size = os.path.getsize(path)
            total = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(CHUNK_BYTES), b""))
            file.seek(max(size - BYTES, 0))
            text = file.read()
    except OSError:
        return Printed()
    total += not text.endswith(b"\n") and bool(text)
    lines = text.decode(errors="replace").split("\n")
    lines = [line.rstrip("\r") for line in lines[: len(lines) - (not lines[-1])]]
    if size > BYTES:
        lines[0] = f"… {lines[0]}"
    return Printed(tuple(lines[-LINES:]), max(total - LINES, total - len(lines), 0))
