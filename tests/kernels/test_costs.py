"""cost(case) of every step equals what the emulated device counts."""

from __future__ import annotations

import pytest

from kernels.ladder import Case, load_ladder
from simt.observe.names import FLOPS_FP32, FLOPS_FP64, GLOBAL_BYTES_REQUESTED_LD, GLOBAL_BYTES_REQUESTED_ST

LADDER = load_ladder("matmul")
WHOLE_TILES = Case(m=256, n=256, k=256)

every_step = pytest.mark.parametrize("step", LADDER.steps, ids=lambda step: step.name)


@pytest.mark.parametrize("case", LADDER.cases, ids=str)
@every_step
def test_the_bytes_asked_for_are_the_bytes_counted(step, case, counters):
    counted, cost = counters(step, case), step.cost(case)
    assert counted[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
    assert counted[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes


@every_step
def test_the_flops_are_the_flops_counted_where_no_tile_is_padded(step, counters):
    counted = counters(step, WHOLE_TILES)
    assert counted[FLOPS_FP32] == step.cost(WHOLE_TILES).flops == 2 * 256**3
    assert counted[FLOPS_FP64] == 0


@pytest.mark.parametrize("case", LADDER.cases, ids=str)
@pytest.mark.parametrize("name", ["naive", "coalesced"])
def test_steps_without_tiles_pad_nothing(name, case, counters):
    step = LADDER.step(name)
    assert counters(step, case)[FLOPS_FP32] == step.cost(case).flops


def test_padded_tiles_execute_more_than_the_algorithm_needs(counters):
    step, case = LADDER.step("tiled"), Case(m=31, n=33, k=32)
    assert step.cost(case).flops == 2 * 31 * 33 * 32
    assert counters(step, case)[FLOPS_FP32] == 2 * 32 * 64 * 32
