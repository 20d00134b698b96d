"""Numbers with their nouns, and lines that somebody reads to the end."""

from __future__ import annotations

WIDEST = 1000  # no line that is worth reading is longer


def cut(line: str) -> str:
    """The line, or the beginning of one that nobody reads to its end."""
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}… {len(line) - WIDEST} more characters"


def count(number: int, noun: str) -> str:
    """As in `1 cell`, `2 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
