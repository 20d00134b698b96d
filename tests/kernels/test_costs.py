"""cost(case) of every step beside what the emulated device counts, exactly, on every case.

Its bytes are those that were asked for. Its FLOPs are those of the problem. A step executes more where it pads a tile with
zeros, where several threads compute the same scale, and where all lanes of a warp add in a tree of which one result counts:
EXECUTED says how much, in closed form.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import ceil_div
from kernels.ladder import ladder_names, load_ladder
from simt.observe.names import (
    FLOPS_FP16,
    FLOPS_FP32,
    FLOPS_FP64,
    GLOBAL_BYTES_REQUESTED_LD,
    GLOBAL_BYTES_REQUESTED_ST,
)
from workbook import buffers

WARP, WARP_TREE = 32, 5 * 32  # additions of a sum over a warp by shuffles: every lane adds five times
BLOCK_SUM = 9 * WARP_TREE  # of 8 warps, and then of their sums
GROUP = 128

PROBLEM = {
    "matmul": lambda m, n, k: 2 * m * n * k,
    "reduction": lambda n: n - 1,
    "argmax": lambda n: n - 1,  # comparisons, which count as no FLOP on the device
    "quantise": lambda rows, columns: rows * (columns + 1),  # divisions: one for each scale and code
    "int8_matmul": lambda m, n, k: 2 * m * n * k,  # integer operations, but for the first step
    "dequant_gemv": lambda b, n, k: 2 * b * n * k,
}


def up(size: int, tile: int) -> int:
    """The size as whole tiles."""
    return ceil_div(size, tile) * tile


def padded(tile_m: int, tile_n: int, tile_k: int):
    return lambda m, n, k: 2 * up(m, tile_m) * up(n, tile_n) * up(k, tile_k)


def tree(per_block: int, additions: int):
    """So many additions in each block, launch after launch."""

    def executed(n: int) -> int:
        blocks = ceil_div(n, per_block)
        return additions * blocks + (executed(blocks) if blocks > 1 else 0)

    return executed


def scale_per_lane(rows: int, columns: int) -> int:
    return rows * (columns + WARP)


def scale_per_thread_of_the_row(rows: int, columns: int) -> int:
    kept = columns % 4 == 0 and columns <= 16384
    return rows * (columns + WARP * ceil_div(columns, 512)) if kept else scale_per_lane(rows, columns)


def scaled_by_groups(b: int, n: int, k: int) -> int:
    return 2 * b * n * (k + ceil_div(k, GROUP))


def a_warp_per_row(b: int, n: int, k: int) -> int:
    """For each byte a product and the scaled sum of it; for its second code, a multiply-add; then the tree."""
    return b * n * (3 * ceil_div(k, 2) + 2 * (k // 2) + WARP_TREE)


def by_words(rows: int):
    """Warps of so many rows; those past the end multiply zeros, and add them, but scale none."""

    def executed(b: int, n: int, k: int) -> int:
        if k % 32:
            return a_warp_per_row(b, n, k)
        return b * (up(n, rows) * (2 * k + WARP_TREE) + n * 2 * (k // 32))

    return executed


EXECUTED = {
    "matmul/naive": padded(1, 1, 1),
    "matmul/coalesced": padded(1, 1, 1),
    "matmul/tiled": padded(32, 32, 32),
    "matmul/register_1d": padded(64, 64, 8),
    **{f"matmul/{name}": padded(128, 128, 8)
       for name in ("register_2d", "vectorised", "bank_free", "warp_tile", "double_buffer")},
    **{f"reduction/{name}": tree(256, 255) for name in ("interleaved", "strided_index", "sequential")},
    "reduction/first_add": tree(512, 256 + 255),
    "reduction/shuffle_tail": tree(512, 256 + 128 + 64 + 32 + WARP_TREE),
    "reduction/shuffle": lambda n: ceil_div(n, 512) * (256 + BLOCK_SUM),
    "reduction/many_per_thread": lambda n: n + ceil_div(n, 8192) * BLOCK_SUM,
    "reduction/vectorised": lambda n: n + ceil_div(n, 8192) * BLOCK_SUM,
    "reduction/two_pass": lambda n: n + ceil_div(n, 8192) * (BLOCK_SUM + 1) + BLOCK_SUM,
    **{f"argmax/{name}": lambda n: 0 for name in ("shared_tree", "shuffle", "packed_atomic")},
    "quantise/thread_per_row": lambda rows, columns: rows * (columns + 1),
    "quantise/block_per_row": lambda rows, columns: rows * (columns + 256),
    "quantise/warp_per_row": scale_per_lane,
    "quantise/vectorised": scale_per_lane,
    "quantise/registers": scale_per_thread_of_the_row,
    "int8_matmul/dequantise": lambda m, n, k: 2 * m * n * k + k * (m + n) + m * n,  # codes to floats, the bias
    **{f"int8_matmul/{name}": lambda m, n, k: 3 * m * n  # two products with scales, and the bias
       for name in ("naive", "tiled", "dp4a", "register_tiled", "fused")},
    "dequant_gemv/dequantise": lambda b, n, k: 2 * b * n * k + n * k,  # a weight is scaled once
    "dequant_gemv/fused_int8": scaled_by_groups,
    "dequant_gemv/int4": scaled_by_groups,
    "dequant_gemv/warp_per_row": a_warp_per_row,
    "dequant_gemv/vectorised": by_words(1),
    "dequant_gemv/four_rows": by_words(4),
}

INTEGERS = {
    "naive": padded(1, WARP, 1),
    "tiled": padded(32, 32, 32),
    "dp4a": lambda m, n, k: padded(32, 32, 32 if k % 4 else 128)(m, n, k),
    "register_tiled": lambda m, n, k: padded(32, 32, 32)(m, n, k) if k % 4 else padded(128, 128, 32)(m, n, k),
    "fused": lambda m, n, k: padded(32, 32, 32)(m, n, k) if k % 4 else padded(128, 128, 32)(m, n, k),
}
"""Integer operations of int8_matmul, had all lanes of its warps been active: 2 for a product, 8 for a dp4a."""

LADDERS = [load_ladder(name) for name in ladder_names()]
STEPS_AND_CASES = [
    pytest.param(step, case, id=f"{step.id}-{case}".replace(" ", "-"))
    for ladder in LADDERS
    for step in ladder
    for case in ladder.cases
]
INT8 = load_ladder("int8_matmul")


def test_every_step_is_held_to_a_formula():
    assert EXECUTED.keys() == {step.id for ladder in LADDERS for step in ladder}


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_the_flops_of_a_step_are_those_of_the_problem(ladder):
    for case in (*ladder.cases, ladder.timed_case):
        assert {step.cost(case).flops for step in ladder} == {PROBLEM[ladder.name](**case)}


@pytest.mark.parametrize(("step", "case"), STEPS_AND_CASES)
def test_the_bytes_counted_are_those_of_the_cost_and_the_flops_those_of_the_formula(step, case, counters):
    counted, cost = counters(step, case), step.cost(case)
    assert counted[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
    assert counted[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes
    assert counted[FLOPS_FP32] == EXECUTED[step.id](**case)
    assert counted[FLOPS_FP64] == counted[FLOPS_FP16] == 0


@pytest.fixture(scope="module")
def products():
    """products(step, case): products of bytes that the warps of one run multiply, 32 to a warp."""
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device counts")

    def multiplied(step, case):
        inputs = INT8.make(case, np.random.default_rng(0))
        memory = buffers.fresh(INT8, step, case, inputs)
        with simt.profile(sample="all") as profile:
            step.run(memory, 0)
            cuda.synchronize()
        found = Counter()
        for launch in profile.launches:
            text = launch.code.ptx.splitlines()
            for line, warps in launch.executed.items():
                found[text[line - 1].split()[0]] += warps
        return WARP * (4 * found["dp4a.s32.s32"] + found["mad.lo.s32"])

    return multiplied


@pytest.mark.parametrize("case", INT8.cases, ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_the_integer_operations_are_those_of_the_dp4a_that_ran(name, case, products):
    executed = INTEGERS[name](**case)
    assert 2 * products(INT8.step(name), case) == executed >= INT8.step(name).cost(case).flops
