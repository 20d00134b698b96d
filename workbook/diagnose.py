"""Says what a wrong result looks like: unwritten blocks, the transpose, a missing tile, else where and how far off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

AXES = {1: ("elements",), 2: ("rows", "columns")}


@dataclasses.dataclass(frozen=True)
class Output:
    """One output of a step beside what it should be; `allowed` is the bound on |got - expected| per cell."""

    name: str
    got: np.ndarray
    expected: np.ndarray
    allowed: np.ndarray | float
    unwritten: np.ndarray

    def agrees_with(self, expected: np.ndarray) -> np.ndarray:
        """Where `got` is within the bound of `expected`; NaN and infinity agree only with themselves."""
        got = self.got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            close = np.abs(got - expected) <= self.allowed
        return close | (got == expected) | (np.isnan(got) & np.isnan(expected))

    @property
    def wrong(self) -> np.ndarray:
        return self.unwritten | ~self.agrees_with(self.expected)


def diagnose(output: Output, variants: Iterable[tuple[str, np.ndarray]]) -> tuple[list[str], bool]:
    """Lines about a wrong output, and whether they name a cause.

    `variants` are (what went wrong, the result that would then come out), tried in turn.
    """
    wrong = output.wrong
    first = tuple(int(index) for index in np.argwhere(wrong)[0])
    got = "nothing (never written)" if output.unwritten[first] else f"{output.got[first]:.9g}"
    where = ", ".join(map(str, first))
    lines = [
        f"{output.name}: {wrong.sum()} of {wrong.size} cells are wrong; "
        f"the first is {output.name}[{where}]: got {got}, expected {output.expected[first]:.9g}"
    ]
    if output.unwritten.any():
        cells = f"never written: {region(output.unwritten)} ({output.unwritten.sum()} cells)"
        return [*lines, cells], not output.unwritten.all()
    if not output.got.any():
        return [*lines, "every cell is zero"], False
    if cause := _recognise(output, variants):
        return [*lines, cause], True
    return [*lines, f"wrong cells: {region(wrong)}"], False


def _recognise(output: Output, variants: Iterable[tuple[str, np.ndarray]]) -> str | None:
    if output.got.ndim == 2:
        flipped = output.expected.T.reshape(output.expected.shape)
        if output.agrees_with(flipped).all():
            return "the result equals the transpose of what was asked: row and column are swapped at the store"
    for text, variant in variants:
        if output.agrees_with(variant).all():
            return text
    return _constant_factor(output)


def _constant_factor(output: Output) -> str | None:
    filled = output.expected != 0
    ratios = output.got[filled] / output.expected[filled]
    if ratios.size < 2 or not np.allclose(ratios, ratios[0], rtol=1e-5) or np.isclose(ratios[0], 1):
        return None
    return f"every cell is {ratios[0]:.6g} times what it should be"


def region(mask: np.ndarray) -> str:
    """The rows and columns that hold every True cell: "rows 64..67", or "within rows 0..3, columns 5..9"."""
    axes = AXES.get(mask.ndim, tuple(f"axis {axis}" for axis in range(mask.ndim)))
    named, cells = [], 1
    for axis, name in enumerate(axes):
        hit = np.flatnonzero(mask.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        cells *= hit.size
        if hit.size < mask.shape[axis]:
            named.append(f"{name if hit.size > 1 else name.removesuffix('s')} {_span(hit)}")
    if not named:
        return "all of it" if cells == mask.sum() else "cells all over the array"
    return ("" if cells == mask.sum() else "within ") + ", ".join(named)


def _span(indices: np.ndarray) -> str:
    if indices.size == 1:
        return str(indices[0])
    steps = np.unique(np.diff(indices))
    if steps.size == 1:
        stride = "" if steps[0] == 1 else f" in steps of {steps[0]}"
        return f"{indices[0]}..{indices[-1]}{stride}"
    return f"{', '.join(map(str, indices[:3]))} … {indices[-1]} ({indices.size} of them)"
