"""The problems that the detective's kernels get wrong: inputs, references, bounds, and cases in which the bugs show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.case import Arrays, Case, Layout, ceil_div
from kernels.ladder import Ladder
from workbook.exercises.problem import BELOW_ZERO, Formula, line, problem, sheet

BLOCK, BINS = 128, 16
LOUD, QUIET = 2**15 - 1, 1000  # the largest int16, whose square is almost 2**30, and one of which 128 squares fit an int32

PICTURES = tuple(
    Case(rows=rows, columns=columns)
    for rows, columns in ((1, 1), (4, 16), (13, 13), (64, 64), (50, 3), (2, 70), (23, 37), (65, 130))
)
ROWS = tuple(
    Case(rows=rows, columns=columns)
    for rows, columns in ((1, 1), (31, 2), (32, 33), (33, 32), (5, 200), (128, 3), (97, 41))
)
"""For blocks of 32 threads that have one row each; the last one has four blocks, ragged."""

LINES = tuple(Case(n=n) for n in (1, 5, 63, 64, 65, 128, 199, 331))
BLOCKS = tuple(Case(n=n) for n in (1, 5, 33, 127, 128, 129, 256, 461))
"""For blocks of 128 threads; the last one has four blocks, ragged."""

PRODUCTS = tuple(
    Case(m=m, n=n, k=k) for m, n, k in ((1, 1, 1), (8, 8, 8), (7, 9, 3), (9, 7, 17), (8, 24, 40), (3, 30, 16), (21, 27, 29))
)


def _blocks(a: np.ndarray) -> list[np.ndarray]:
    return np.split(a, range(BLOCK, a.size, BLOCK))


def _one_per_block(case: Case) -> tuple[int, ...]:
    return (ceil_div(case["n"], BLOCK),)


def _of_blocks(function: Callable[[np.ndarray], float]) -> Formula:
    """One number per block."""
    return lambda a: np.array([function(block) for block in _blocks(a)])


def _smoothed(a: np.ndarray) -> np.ndarray:
    return np.convolve(a, (0.25, 0.5, 0.25), mode="full")[1:-1]


PICTURE = problem(
    "detective.picture",
    lambda case: {"a": sheet(case)},
    lambda a: 1 - a,
    PICTURES,
    sheet,
    absolute=lambda a: 1 + np.abs(a),
)

PROJECT = problem(
    "detective.project",
    lambda case: {"a": sheet(case), "v": (case["columns"],)},
    lambda a, v: a @ v,
    ROWS,
    lambda case: (case["rows"],),
    terms=lambda case: case["columns"],
)

LEVEL = problem(
    "detective.level",
    lambda case: {"a": sheet(case)},
    lambda a: np.abs(a).sum(axis=1),
    ROWS,
    lambda case: (case["rows"],),
    terms=lambda case: case["columns"],
)

SMOOTH = problem("detective.smooth", lambda case: {"a": line(case)}, _smoothed, LINES, line, terms=lambda case: 3)

LARGEST = problem(
    "detective.largest",
    lambda case: {"a": line(case)},
    _of_blocks(np.max),
    BLOCKS,
    _one_per_block,
    absolute=_of_blocks(lambda block: 0.0),  # a maximum is not rounded
    kinds={**BELOW_ZERO, "lowest": "infinitely low"},
)

TOTAL = problem(
    "detective.total", lambda case: {"a": line(case)}, _of_blocks(np.sum), BLOCKS, _one_per_block, terms=lambda case: BLOCK
)

HEADROOM = problem(
    "detective.headroom",
    lambda case: {"a": line(case)},
    _of_blocks(lambda block: (block.max() - block).sum()),
    BLOCKS,
    _one_per_block,
    terms=lambda case: BLOCK,
    absolute=_of_blocks(lambda block: (block.max() - block).sum()),
    kinds=BELOW_ZERO,
)

PRODUCT = problem(
    "detective.product",
    lambda case: {"a": (case["m"], case["k"]), "b": (case["k"], case["n"])},
    lambda a, b: a @ b,
    PRODUCTS,
    lambda case: (case["m"], case["n"]),
    terms=lambda case: case["k"],
)


# --- whole numbers ------------------------------------------------------------------------------------------------------


def _exact(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    return {"out": 0.0}


def _make_bins(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """Each bin as likely as any other, or most cells in bin 3 for kind="normal"."""
    bins = rng.integers(BINS, size=case["n"], dtype=np.int32)
    return {"a": np.where(rng.random(case["n"]) < 0.8, np.int32(3), bins) if kind == "normal" else bins}


def _count(inputs: Arrays) -> Arrays:
    return {"out": np.array([np.bincount(block, minlength=BINS) for block in _blocks(inputs["a"])])}


def _counts(case: Case, inputs: Arrays) -> Layout:
    return {"out": ((*_one_per_block(case), BINS), "int32")}


HISTOGRAM = Ladder(
    "detective.histogram",
    make=_make_bins,
    reference=_count,
    tolerance=_exact,
    outputs=_counts,
    cases=BLOCKS,
    timed_case=BLOCKS[-1],
    steps=(),
    kinds={"integers": "evenly spread", "normal": "skewed"},
)


def _make_signal(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """int16: up to 32767 and at least half of that, or up to 1000 for kind="normal"."""
    high = QUIET if kind == "normal" else LOUD
    samples = rng.integers(high // 2, high, size=case["n"], endpoint=True)
    return {"a": (samples * rng.choice((-1, 1), size=case["n"])).astype(np.int16)}


def _square_sums(inputs: Arrays) -> Arrays:
    return {"out": np.array([(block.astype(np.int64) ** 2).sum() for block in _blocks(inputs["a"])])}


def _energies(case: Case, inputs: Arrays) -> Layout:
    return {"out": (_one_per_block(case), "int64")}


ENERGY = Ladder(
    "detective.energy",
    make=_make_signal,
    reference=_square_sums,
    tolerance=_exact,
    outputs=_energies,
    cases=BLOCKS,
    timed_case=BLOCKS[-1],
    steps=(),
    kinds={"integers": "loud", "normal": "quiet"},
)
