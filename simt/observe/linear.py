"""What the counters of a compiled kernel mean, worked out once.

Everything that observers say is linear in their slots, so they are asked once, about slots that stand for themselves; the
answers are rows of a sparse matrix, and reading a launch is one product.
"""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

SAFE = 1 << 62


class Term:
    """A sum of slots, each times a whole number."""

    __slots__ = ("factors",)

    def __init__(self, factors: dict[int, int]):
        self.factors = factors

    def __add__(self, other: Term | int) -> Term:
        if other == 0:
            return self
        return Term(self.factors | {slot: self.factors.get(slot, 0) + factor for slot, factor in other.factors.items()})

    __radd__ = __add__

    def __sub__(self, other: Term) -> Term:
        return self + other * -1

    def __mul__(self, number: int) -> Term:
        return Term({slot: factor * number for slot, factor in self.factors.items()})


class Readings:
    """slots: those that mean something, in the order in which ``of`` takes their values"""

    def __init__(self, observers: Iterable, count: int):
        slots = [Term({slot: 1}) for slot in range(count)]
        rows: dict[tuple, Term] = {}
        for observer in observers:
            for source, name, term in observer.collect(slots):
                row = (name, (source.file, source.line) if source is not None else None)
                rows[row] = rows[row] + term if row in rows else term
            for line, term in observer.executed(slots).items():
                rows[line,] = rows[line,] + term if (line,) in rows else term
        self.rows = [row for row, term in rows.items() if term.factors]
        terms = [rows[row].factors for row in self.rows]
        self.slots = np.array(sorted({slot for term in terms for slot in term}), np.int64)
        place = {slot: k for k, slot in enumerate(self.slots.tolist())}
        self.places = np.array([place[slot] for term in terms for slot in term], np.int64)
        self.factors = np.array([factor for term in terms for factor in term.values()], np.int64)
        self.starts = np.cumsum([0, *(len(term) for term in terms)])[:-1]

    def of(self, values: np.ndarray) -> tuple[dict[str, int], dict[tuple[str, int], dict[str, int]], dict[int, int]]:
        """(totals by name, the same by (file, line), executions of each line of the PTX), from the values of ``slots``: of
        whole numbers, int64 or, where they are large, Python's."""
        totals: dict[str, int] = {}
        lines: dict[tuple[str, int], dict[str, int]] = {}
        executed: dict[int, int] = {}
        for row, value in zip(self.rows, self.sums(values), strict=True):
            if len(row) == 1:
                executed[row[0]] = value
                continue
            name, place = row
            totals[name] = totals.get(name, 0) + value
            if place is not None and value:
                lines.setdefault(place, {})[name] = value
        return totals, lines, executed

    def sums(self, values: np.ndarray) -> list[int]:
        """Of each row."""
        if not self.rows:
            return []
        products = exact(values[self.places], int(np.abs(self.factors).sum())) * self.factors
        return np.add.reduceat(products, self.starts).tolist()


def exact(values: np.ndarray, times: int) -> np.ndarray:
    """The same numbers, as Python's where a sum of them, ``times`` times the largest, could leave int64."""
    if values.dtype == object or not len(values) or max(int(values.max()), -int(values.min())) * times < SAFE:
        return values
    return values.astype(object)


def weighted(parts: list[tuple[np.ndarray, int]]) -> np.ndarray:
    """The sum of equally long arrays, each times its whole number."""
    times = sum(abs(number) for _, number in parts)
    return sum(exact(values, times) * number for values, number in parts)
