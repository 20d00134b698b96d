"""Fuzz programs as data: statements in a tree, and what they are launched with."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator


@dataclasses.dataclass(slots=True)
class Line:
    """A statement, or several that belong together; indentation inside is part of the text."""

    lines: tuple[str, ...]

    def render(self, indent: str = "") -> Iterator[str]:
        return (indent + line for line in self.lines)


@dataclasses.dataclass(slots=True)
class Nest:
    """A compound statement: lines before it, then (head, body) pairs."""

    branches: list[tuple[str, list[Line | Nest]]]
    before: tuple[str, ...] = ()

    def render(self, indent: str = "") -> Iterator[str]:
        yield from (indent + line for line in self.before)
        for head, body in self.branches:
            yield indent + head
            yield from render(body, indent + "    ")


def render(body: list[Line | Nest], indent: str = "") -> Iterator[str]:
    if not body:
        yield indent + "pass"
    for statement in body:
        yield from statement.render(indent)


@dataclasses.dataclass(slots=True)
class Program:
    seed: int
    body: list[Line | Nest]
    block: tuple[int, int, int]
    grid: tuple[int, int]
    n: int
    m: int
