"""cost(case) of every step equals what the emulated device counts."""

from __future__ import annotations

import pytest

from kernels.case import Case
from kernels.ladder import ladder_names, load_ladder
from simt.observe.names import FLOPS_FP32, FLOPS_FP64, GLOBAL_BYTES_REQUESTED_LD, GLOBAL_BYTES_REQUESTED_ST

STEPS_AND_CASES = [
    pytest.param(step, case, id=f"{step.id}-{case}".replace(" ", "-"))
    for ladder in map(load_ladder, ladder_names())
    for step in ladder
    for case in ladder.cases
]
MATMUL = load_ladder("matmul")
WHOLE_TILES = Case(m=256, n=256, k=256)


@pytest.mark.parametrize(("step", "case"), STEPS_AND_CASES)
def test_the_bytes_asked_for_are_the_bytes_counted(step, case, counters):
    counted, cost = counters(step, case), step.cost(case)
    assert counted[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
    assert counted[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes


@pytest.mark.parametrize("step", MATMUL.steps, ids=lambda step: step.id)
def test_the_flops_are_the_flops_counted_where_no_tile_is_padded(step, counters):
    counted = counters(step, WHOLE_TILES)
    assert counted[FLOPS_FP32] == step.cost(WHOLE_TILES).flops == 2 * 256**3
    assert counted[FLOPS_FP64] == 0


@pytest.mark.parametrize("case", MATMUL.cases, ids=str)
@pytest.mark.parametrize("name", ["naive", "coalesced"])
def test_steps_without_tiles_pad_nothing(name, case, counters):
    step = MATMUL.step(name)
    assert counters(step, case)[FLOPS_FP32] == step.cost(case).flops


def test_padded_tiles_execute_more_than_the_algorithm_needs(counters):
    step, case = MATMUL.step("tiled"), Case(m=31, n=33, k=32)
    assert step.cost(case).flops == 2 * 31 * 33 * 32
    assert counters(step, case)[FLOPS_FP32] == 2 * 32 * 64 * 32
