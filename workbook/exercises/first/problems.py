"""The problems of the first kernels: inputs, references in float64, bounds, and cases around the sizes of blocks."""

from __future__ import annotations

import numpy as np

from kernels.case import Case, ceil_div
from workbook.exercises.problem import line, problem, sheet

LINES = tuple(Case(n=n) for n in (1, 7, 31, 32, 33, 64, 1500, 97, 128))
"""For blocks of 32 threads: less than one, exactly one, one cell more, and four; 97 has three full blocks and one cell. 1500 is
more than any block holds."""

LONGER = tuple(Case(n=n) for n in (1, 5, 63, 64, 65, 128, 1500, 199, 331))
"""For blocks of 64 and 128 threads; the last one has six blocks of 64, ragged."""

SHEETS = tuple(
    Case(rows=rows, columns=columns)
    for rows, columns in ((1, 1), (3, 15), (4, 16), (5, 17), (13, 13), (50, 3), (2, 70), (90, 150), (23, 37))
)
"""For blocks of 16 x 4 threads: within one, exactly one, one more along both axes, square, tall, wide, 3 x 6 blocks."""

TABLES = tuple(
    Case(rows=rows, columns=columns)
    for rows, columns in ((1, 1), (4, 1), (3, 63), (2, 64), (5, 65), (1, 200), (70, 7), (2, 1100), (13, 130))
)
"""For blocks of 64 threads that have one row each."""

WINDOW, WIDTH, BLOCK = 3, 5, 128


def _one_line(case: Case) -> dict[str, tuple[int, ...]]:
    return {"a": line(case)}


def _two_lines(case: Case) -> dict[str, tuple[int, ...]]:
    return {"a": line(case), "b": line(case)}


def _one_sheet(case: Case) -> dict[str, tuple[int, ...]]:
    return {"a": sheet(case)}


def _slopes(a: np.ndarray) -> np.ndarray:
    """1/4 in even blocks of 32, 1/8 in odd ones."""
    return np.where(np.arange(a.size) // 32 % 2 == 0, 0.25, 0.125)


def _mirror_in_blocks(a: np.ndarray, size: int = 64) -> np.ndarray:
    return np.concatenate([a[start : start + size][::-1] for start in range(0, a.size, size)])


def _window(a: np.ndarray) -> np.ndarray:
    return np.convolve(a, np.ones(WINDOW))[: a.size]


def _convolution(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.concatenate([a, np.zeros(WIDTH - 1)])
    return np.lib.stride_tricks.sliding_window_view(padded, WIDTH) @ w


def _sums_of_blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.add.reduceat(a * b, np.arange(0, a.size, BLOCK))


MAP = problem("first.map", _one_line, lambda a: 2 * a, LINES, line)

ZIP = problem("first.zip", _two_lines, lambda a, b: a - b, LINES, line, absolute=lambda a, b: np.abs(a) + np.abs(b))

GUARD = problem(
    "first.guard",
    lambda case: {"a": (case["n"] + 1,)},
    lambda a: a[1:] - a[:-1],
    LINES,
    line,
    absolute=lambda a: np.abs(a[1:]) + np.abs(a[:-1]),
)

MAP_2D = problem("first.map_2d", _one_sheet, lambda a: 3 * a, SHEETS, sheet)

BROADCAST = problem(
    "first.broadcast",
    lambda case: {"a": (case["rows"],), "b": (case["columns"],)},
    lambda a, b: a[:, None] - b[None, :],
    SHEETS,
    sheet,
    absolute=lambda a, b: np.abs(a[:, None]) + np.abs(b[None, :]),
)

BLOCKS = problem("first.blocks", _one_line, lambda a: a * a, LINES, line)

BLOCKS_2D = problem("first.blocks_2d", _one_sheet, lambda a: a[:, ::-1], SHEETS, sheet)

POOLING = problem("first.pooling", _one_line, _window, LINES, line, terms=lambda case: WINDOW)

GRID_STRIDE = problem(
    "first.grid_stride",
    _one_line,
    lambda a: 1 - a,
    (*LINES, Case(n=191), Case(n=193), Case(n=500)),  # the grid has 96 threads: up to six strides
    line,
    absolute=lambda a: 1 + np.abs(a),
)

TYPED = problem("first.typed", _one_line, lambda a: np.where(a > 0, a, a * _slopes(a)), LINES, line)

SHARED = problem(
    "first.shared",
    _one_line,
    lambda a: a - _mirror_in_blocks(a),
    LONGER,
    line,
    absolute=lambda a: np.abs(a) + np.abs(_mirror_in_blocks(a)),
)

CONV_1D = problem(
    "first.conv_1d",
    lambda case: {"a": line(case), "w": (WIDTH,)},
    _convolution,
    LONGER,
    line,
    terms=lambda case: WIDTH,
)

DOT = problem(
    "first.dot",
    _two_lines,
    _sums_of_blocks,
    tuple(Case(n=n) for n in (1, 5, 127, 128, 129, 256, 300, 461)),
    lambda case: (ceil_div(case["n"], BLOCK),),
    terms=lambda case: BLOCK,
)

AXIS_SUM = problem(
    "first.axis_sum",
    _one_sheet,
    lambda a: a.sum(axis=1),
    TABLES,
    lambda case: (case["rows"],),
    terms=lambda case: case["columns"],
)

PREFIX_SUM = problem("first.prefix_sum", _one_line, np.cumsum, LONGER, line, terms=lambda case: case["n"])
