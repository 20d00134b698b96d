"""The gaps of matmul: the step before and what goes wrong are rejected, each by the check meant for it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.workbook.exercises.test_check import text
from tests.workbook.exercises.test_reduction_and_quant import Edit, answer
from workbook.exercises import entry
from workbook.exercises.result import Result

Checked = Callable[..., Result]

BEFORE = {
    "coalesced": ("s10_naive", "right, but 16.5 sectors per load request, budget 2.5"),
    "tiled": ("s20_coalesced", "right, but 16384 global load requests, budget 512"),
    "register_1d": ("s30_tiled", "right, but 16384 shared load requests, budget 9216"),
    "register_2d": ("s40_register_1d", "right, but 36864 shared load requests, budget 8192"),
    "vectorised": ("s50_register_2d", r"right, but \d+ global load requests, budget 128"),
    "bank_free": ("s60_vectorised", r"right, but \d+ bank conflicts of shared loads, budget 0"),
    "warp_tile": ("s70_bank_free", "right, but 2048 shared load requests, budget 1536"),
    "double_buffer": ("s80_warp_tile", "right, but 64 arrivals of warps at barriers, budget 32"),
}


@pytest.mark.many
@pytest.mark.parametrize("word", BEFORE)
def test_the_step_before_is_right_but_over_the_budget(checked: Checked, word: str) -> None:
    module, says = BEFORE[word]
    result = checked((entry.PROJECT / "kernels" / "matmul" / f"{module}.py").read_text(), f"matmul/{word}")
    assert result.trouble is not None and result.trouble.kind == "budget", text(result)
    assert re.fullmatch(says, result.trouble.title), text(result)


RELOADED = "        cuda.syncthreads()  # nobody reloads while others still read\n"
COMPLETE = "        cuda.syncthreads()  # the tiles are complete\n"

# what is wrong: the exercise, the edits of its answer, the kind of trouble, and words of the screen
WRONG: dict[str, tuple[str, tuple[Edit, ...], str, str]] = {
    "no guard of the columns": ("naive", ((" and col < c.shape[1]:", ":"),), "bounds", "out of bounds"),
    "rows of b": ("naive", (("b[i, col]", "b[col, i]"),), "bounds", r"b\["),
    "a sum that begins in double precision": ("naive", (("float32(0)", "0.0"),), "float64", "float32"),
    "the last k is missing": ("naive", (("range(a.shape[1])", "range(a.shape[1] - 1)"),), "wrong", "the last one is missing"),
    "a grid of rows by columns": (
        "coalesced",
        (("ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)", "ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)"),),
        "wrong",
        "never written",
    ),
    "row and column swapped back": (
        "coalesced",
        (
            ("col, row = cuda.grid(2)", "row, col = cuda.grid(2)"),
            (
                "ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)",
                "ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)",
            ),
        ),
        "budget",
        "sectors per load request",
    ),
    "tiles that are not awaited": ("tiled", ((COMPLETE, ""),), "race", "tile_"),
    "tiles that are loaded too early": ("tiled", ((RELOADED, ""),), "race", "tile_"),
    "no zeros past the end of k": (
        "tiled",
        (("inside_a = row < a.shape[0] and k0 + x < a.shape[1]", "inside_a = row < a.shape[0]"),),
        "bounds",
        r"a\[",
    ),
    "a tile that stands on its side": ("tiled", (("tile_b[i, x]", "tile_b[x, i]"),), "wrong", "cells are wrong"),
    "the tile of the block's row": ("tiled", (("tile_a[y, i]", "tile_a[x, i]"),), "wrong", "cells are wrong"),
    "products without the tiles": (
        "tiled",
        (
            (
                "total += tile_a[y, i] * tile_b[i, x]",
                "if row < c.shape[0] and col < c.shape[1] and k0 + i < a.shape[1]:\n"
                "                total += a[row, k0 + i] * b[k0 + i, col]",
            ),
        ),
        "budget",
        "global load requests",
    ),
    "seven of eight totals": (
        "register_1d",
        (("j in range(THREAD_M):", "j in range(THREAD_M - 1):"),),
        "wrong",
        "cells are wrong",
    ),
    "all totals from one row": ("register_1d", (("tile_a[row + j, i]", "tile_a[row, i]"),), "wrong", "cells are wrong"),
    "b loaded for each product": (
        "register_1d",
        (
            ("            value_b = tile_b[i, col]\n", ""),
            (
                "totals[j] += tile_a[row + j, i] * value_b",
                "cuda.threadfence_block()\n                totals[j] += tile_a[row + j, i] * tile_b[i, col]",
            ),
        ),
        "budget",
        "shared load requests",
    ),
    "rows of the neighbour": ("register_2d", (("tile_a[row + i, k]", "tile_a[col + i, k]"),), "wrong", "cells are wrong"),
    "a k too many": (
        "register_2d",
        (("for k in range(TILE_K):", "for k in range(TILE_K + 1):"),),
        "bounds",
        "compare the index with the shared array's extent",
    ),
    "two rounds of products": (
        "register_2d",
        (("totals[i, j] += values_a[i] * values_b[j]", "totals[i, j] += values_a[j] * values_b[i]"),),
        "wrong",
        "cells are wrong",
    ),
    "a tile that is not transposed": (
        "vectorised",
        (("tile_a[a_col + i, a_row]", "tile_a[a_row % 8, a_col + i]"),),
        "init",
        "both write tile_a",
    ),
    "one of four columns": (
        "vectorised",
        (("for j in range(0, THREAD_N, 4):\n            y,", "for j in range(0, 4, 4):\n            y,"),),
        "wrong",
        "never written",
    ),
    "a guard of rows only": (
        "vectorised",
        (("if y < c.shape[0] and x < c.shape[1]:", "if y < c.shape[0]:"),),
        "bounds",
        r"c\[",
    ),
    "columns four apart, stored eight apart": (
        "bank_free",
        (("y, x = tile_row + row + i, tile_col + col + j // 4 * HALF_N", "y, x = tile_row + row + i, tile_col + col + j"),),
        "wrong",
        "cells are wrong",
    ),
    "no room between the columns of a": ("bank_free", (("ROW_A = TILE_M + 4", "ROW_A = TILE_M"),), "budget", "bank conflicts"),
    "warps one below the other": (
        "warp_tile",
        (("warp // 2 * WARP_M", "warp % 2 * WARP_M"),),
        "wrong",
        "never written|cells are wrong",
    ),
    "lanes side by side": (
        "warp_tile",
        (("lane // 4 * 4, warp", "lane // 8 * 4, warp"), ("lane % 4 * 4\n", "lane % 8 * 4\n")),
        "bounds",
        "shared memory",
    ),
    "the tiles of this round again": (
        "double_buffer",
        (("next_k0 = k0 + TILE_K", "next_k0 = k0"),),
        "wrong",
        "cells are wrong",
    ),
    "one pair of tiles": ("double_buffer", (("turn ^= 1", "turn ^= 0"),), "race", "tile_"),
    "a barrier more": (
        "double_buffer",
        (("        turn ^= 1", "        cuda.syncthreads()\n        turn ^= 1"),),
        "budget",
        "arrivals of warps at barriers",
    ),
    "the upper half twice": (
        "double_buffer",
        (("b_lower = load4_or_zeros(b, next_k0 + b_row + HALF_K,", "b_lower = load4_or_zeros(b, next_k0 + b_row,"),),
        "wrong",
        "cells are wrong",
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_rejected_by_the_check_meant_for_it(checked: Checked, what: str) -> None:
    word, edits, kind, says = WRONG[what]
    result = checked(answer(f"matmul/{word}", *edits), f"matmul/{word}")
    assert result.trouble is not None and result.trouble.kind == kind, text(result)
    assert re.search(says, text(result), flags=re.DOTALL), text(result)


# how else it can be written: the exercise, and the edits of its answer
RIGHT: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "from the end of k": ("naive", (("range(a.shape[1])", "range(a.shape[1] - 1, -1, -1)"),)),
    "indices by hand": (
        "coalesced",
        (
            (
                "col, row = cuda.grid(2)",
                "col = cuda.blockIdx.x * SIDE + cuda.threadIdx.x\n    row = cuda.blockIdx.y * SIDE + cuda.threadIdx.y",
            ),
        ),
    ),
    "a barrier before the load": (
        "tiled",
        ((RELOADED, ""), ("        inside_a =", "        cuda.syncthreads()\n        inside_a =")),
    ),
    "tiles with guards in an if": (
        "tiled",
        (
            (
                "tile_a[y, x] = a[row, k0 + x] if inside_a else float32(0)",
                "tile_a[y, x] = float32(0)\n        if inside_a:\n            tile_a[y, x] = a[row, k0 + x]",
            ),
        ),
    ),
    "totals by row": (
        "register_1d",
        (("range(THREAD_M):\n                totals[j]", "range(THREAD_M - 1, -1, -1):\n                totals[j]"),),
    ),
    "columns outside": (
        "register_2d",
        (
            (
                "for i in range(THREAD_M):\n            for j in range(THREAD_N):\n                totals[i, j] += values",
                "for j in range(THREAD_N):\n            for i in range(THREAD_M):\n                totals[i, j] += values",
            ),
        ),
    ),
    "bits for remainders": ("warp_tile", (("warp // 2 * WARP_M + lane // 4 * 4", "(warp >> 1) * WARP_M + (lane & 28)"),)),
}


@pytest.mark.many
@pytest.mark.parametrize("how", RIGHT)
def test_a_right_answer_passes_however_it_is_written(checked: Checked, how: str) -> None:
    word, edits = RIGHT[how]
    result = checked(answer(f"matmul/{word}", *edits), f"matmul/{word}")
    assert result.passed, text(result)


def test_every_gap_has_a_wrong_filling() -> None:
    assert {word for word, *_ in WRONG.values()} == {exercise.word for exercise in entry.exercises(("matmul",))}
