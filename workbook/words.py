"""Numbers with their nouns."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """As in `1 cell`, `2 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
