"""Says what a wrong result looks like: unwritten blocks, the transpose, a missing tile, else where and how far off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from workbook.words import count

BLOCKS = tuple(2**power for power in range(2, 11))  # sizes of blocks and tiles along one axis
SHIFTS = (1, *BLOCKS[:6])
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
    got = "nothing (never written)" if output.unwritten[first] else _figure(output.got[first])
    where = ", ".join(map(str, first))
    lines = [
        f"{output.name}: {wrong.sum()} of {count(wrong.size, 'cell')} {'is' if wrong.sum() == 1 else 'are'} wrong; "
        f"the first is {output.name}[{where}]: got {got}, expected {_figure(output.expected[first])}"
    ]
    if output.unwritten.any():
        cells = f"{region(output.unwritten)} ({count(output.unwritten.sum(), 'cell')}){_written_part(output.unwritten)}"
        return [*lines, f"never written: {cells}"], not output.unwritten.all()
    if not output.got.any():
        return [*lines, "every cell is zero"], False
    if cause := _recognise(output, variants):
        return [*lines, cause], True
    lines.append(f"wrong cells: {region(wrong)}")
    nan = _is_nan(output.got) & ~_is_nan(output.expected)
    if nan.any() and not _is_nan(output.expected).any():  # else it may be an input's
        are = "is" if nan.sum() == 1 else "are"
        lines.append(f"{nan.sum()} of them {are} NaN, which fresh memory holds here: something is read before it is written")
        return lines, True
    return lines, False


def _figure(value: np.generic) -> str:
    """A whole number with all its digits: where one overflows, they tell."""
    return str(value) if isinstance(value, np.integer) else f"{value:.9g}"


def _is_nan(array: np.ndarray) -> np.ndarray:
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)


def _written_part(unwritten: np.ndarray) -> str:
    """What it means that only the first cells along each axis are there, if that is so."""
    written = ~unwritten
    parts = [np.flatnonzero(written.any(axis=tuple(set(range(written.ndim)) - {axis}))) for axis in range(written.ndim)]
    sizes = [part.size for part in parts]
    if written.sum() != np.prod(sizes) or any(part.size == 0 or part[-1] != part.size - 1 for part in parts):
        return ""
    cut = [(got, size) for got, size in zip(sizes, unwritten.shape, strict=True) if got < size]
    first = " x ".join(map(str, sizes))
    if all(_is_partial(size - got, got) for got, size in cut):
        return f"; the first {first} are there: the last, partial tile is missing"
    if any(got not in BLOCKS for got, _ in cut):
        return ""
    return f"; the first {first} are there, as if block 0 were the only one: is the block's number in the index?"


def _is_partial(left: int, written: int) -> bool:
    """Whether what is left is less than a tile, where `written` cells are whole ones: of a size that divides their number."""
    return any(left < block and written % block == 0 for block in BLOCKS)


def _recognise(output: Output, variants: Iterable[tuple[str, np.ndarray]]) -> str | None:
    if output.got.ndim == 2:
        flipped = output.expected.T.reshape(output.expected.shape)
        if output.agrees_with(flipped).all():
            return "the result equals the transpose of what was asked: row and column are swapped at the store"
    for text, variant in variants:
        if output.agrees_with(variant).all():
            return text
    return _overflown(output) or _constant_factor(output) or _shifted(output)


def _overflown(output: Output) -> str | None:
    """Whether whole numbers are off by multiples of 2**32 or 2**16, which is what fewer bits leave out."""
    if output.got.dtype.kind not in "iu" or output.expected.dtype.kind not in "iu" or not output.wrong.any():
        return None
    off = output.got.astype(np.int64) - output.expected.astype(np.int64)
    for bits in (32, 16):
        if not (off % 2**bits).any():
            return f"wrong cells are off by multiples of 2**{bits}: somewhere a number was cut to {bits} bits"
    return None


def _shifted(output: Output) -> str | None:
    """Whether every cell is right, but for a place some cells away."""
    whole = np.broadcast_to(np.asarray(output.allowed, np.float64), output.expected.shape)
    for axis, size in enumerate(output.expected.shape):
        got, expected, allowed = (np.moveaxis(array, axis, 0) for array in (output.got, output.expected, whole))
        for shift in (shift for shift in SHIFTS if shift <= size // 2):
            first, last = slice(-shift), slice(shift, None)
            for name, here, there in (("before", last, first), ("after", first, last)):
                moved = Output(output.name, got[here], expected[there], allowed[here], np.zeros(1, bool))
                if np.unique(expected).size > 2 and moved.agrees_with(moved.expected).all():
                    along = AXES.get(output.got.ndim, ("cells",) * output.got.ndim)[axis]
                    return f"each cell holds what belongs {shift} {along if shift > 1 else along.removesuffix('s')} {name} it"
    return None


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
