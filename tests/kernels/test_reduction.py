"""The yardstick of the sum: its inputs, reference and tolerance; what its steps promise besides; and the trap beside it."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import Case
from kernels.ladder import load_ladder, parse_doc
from kernels.reduction import KINDS, LADDER, make, reference, tolerance
from kernels.reduction.levels import sizes
from kernels.reduction.s60_shuffle import WARPS, block_sum
from kernels.reduction.traps import hasty, warp_synchronous
from simt.observe.names import DIVERGENT_BRANCHES, FLOPS_FP32, SHARED_CONFLICTS_LD, SHARED_CONFLICTS_ST
from workbook import buffers

ORDERS = ("forward", "reverse", "1", "2", "3")

every_step = pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)
orders = pytest.mark.parametrize("order", ORDERS)
every_trap = pytest.mark.parametrize("trap", [hasty, warp_synchronous], ids=lambda trap: trap.__name__.rpartition(".")[2])


@pytest.fixture
def checked(emulated: None) -> None:
    """The checkers are there, and small grids are on purpose."""


def total_of(step, x) -> np.ndarray:
    """What `step` (or a trap's module) makes of x, a host or device array: total (1)."""
    inputs = {"x": x}
    case = Case(n=x.size)
    memory = buffers.fresh(LADDER, step, case, inputs)
    step.run(memory, 0)
    return memory["total"].copy_to_host()


def half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(np.float32)


def test_the_ladder_is_registered_under_its_name():
    assert load_ladder("reduction") is LADDER


def test_the_cases_include_the_corners():
    found = {case["n"] for case in LADDER.cases}
    assert {1, 2, 3, 31, 33, 63} <= found  # numbers of threads that a tree of halves gets wrong
    for tile in (256, 512, 8192):
        assert {tile - 1, tile + 1} <= found
        assert any(n > 3 * tile and n % tile for n in found)
    assert any(len(sizes(n, 256)) == 3 and len(sizes(n, 512)) == 2 for n in found)  # three launches, and two


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_have_the_shape_and_the_type_of_their_kind(kind, rng):
    x = make(Case(n=7), rng, kind)["x"]
    assert x.shape == (7,) and x.dtype == ("int32" if kind == "int32" else "float32")


@pytest.mark.parametrize("n", [1, 2, 1009, 65537])
def test_no_sum_of_some_of_the_int32_inputs_wraps(n, rng):
    x = make(Case(n=n), rng, "int32")["x"]
    assert np.abs(x.astype(np.int64)).sum() <= 2**31 - 1
    assert n > 2 or np.abs(x).max() > 2**16  # and they are no small numbers, which 16 bits would hold


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="normal, integers, int32, not 'zeros'"):
        make(Case(n=1), rng, "zeros")


def test_the_reference_is_exact():
    x = np.array([2**30, 2**30 - 1, -5], dtype=np.int32)
    assert reference({"x": x})["total"].tolist() == [2**31 - 6]
    assert reference({"x": np.array([2.0**24, 1, 1], dtype=np.float32)})["total"].tolist() == [2.0**24 + 2]


@pytest.mark.parametrize("kind", ["integers", "int32"])
@pytest.mark.parametrize("n", [1, 65537])
def test_whole_numbers_have_to_come_out_exactly(kind, n, rng):
    case = Case(n=n)
    assert tolerance(case, make(case, rng, kind)) == {"total": 0.0}


def test_whole_floats_too_large_to_add_exactly_have_a_tolerance():
    assert tolerance(Case(n=2), {"x": np.array([2.0**24, 1], dtype=np.float32)})["total"] > 0


@pytest.mark.parametrize("order", ["one after the other", "shuffled", "from both ends", "pairs"])
@pytest.mark.parametrize("n", [2, 33, 1009, 65536])
def test_a_float32_sum_in_any_order_stays_well_inside_the_tolerance(n, order, rng):
    case = Case(n=n)
    inputs = make(case, rng)
    x = inputs["x"]
    if order == "shuffled":
        x = rng.permutation(x)
    if order == "from both ends":
        x = np.stack([x, x[::-1]], axis=1).ravel()[:n]
        inputs = {"x": x}
    total = x[None].astype(np.float32)[0]
    if order == "pairs":
        while total.size > 1:
            total = np.pad(total, (0, total.size % 2))
            total = total[::2] + total[1::2]
        total = total[0]
    else:
        total = np.add.accumulate(x)[-1]  # NumPy's accumulate adds one by one in float32
    assert abs(total - reference(inputs)["total"][0]) < 0.5 * tolerance(case, inputs)["total"]


@pytest.mark.parametrize("n", [2, 33, 1009, 8192])
def test_float16_inputs_fall_outside_the_tolerance(n, rng):
    """Of several seeds, most do: roundings of one sum may happen to cancel."""
    case = Case(n=n)
    outside = 0
    for _ in range(20):
        inputs = make(case, rng)
        rounded = reference({"x": half(inputs["x"])})["total"]
        outside += abs(rounded - reference(inputs)["total"])[0] > 2 * tolerance(case, inputs)["total"]
    assert outside >= 10


@every_step
def test_the_sum_of_nothing_is_zero(step):
    for dtype in ("float32", "int32"):
        assert total_of(step, np.empty(0, dtype)).tolist() == [0]


@every_step
def test_an_int32_sum_wraps_as_numpys_does(step):
    x = np.full(1009, 2**31 - 1, dtype=np.int32)
    assert total_of(step, x).tolist() == [x.sum(dtype=np.int32)]


@every_step
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_go_through(step, value):
    x = np.ones(600, dtype=np.float32)
    x[577] = value
    np.testing.assert_array_equal(total_of(step, x), [value])


@every_step
@pytest.mark.parametrize("start", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 257, 8193])
def test_a_step_takes_inputs_off_the_16_byte_boundary(step, start, n, rng):
    x = make(Case(n=n + start), rng, "integers")["x"]
    assert total_of(step, cuda.to_device(x)[start:]).tolist() == [x[start:].sum()]


def test_the_total_of_a_run_before_is_not_added(rng):
    x = make(Case(n=1009), rng, "integers")["x"]
    for step in LADDER:
        memory = buffers.fresh(LADDER, step, Case(n=1009), {"x": x})
        for _ in range(2):
            step.run(memory, 0)
        assert memory["total"].copy_to_host().tolist() == [x.sum()]


def bits_by_order(step, monkeypatch, x) -> set[int]:
    """The total's bits under each order of blocks and warps, twice each, on one thread and on several."""
    found = set()
    for order in ORDERS:
        monkeypatch.setenv("SIMT_SCHEDULE", order)
        for _ in range(2):
            found.add(int(total_of(step, x).view(np.uint32)[0]))
    return found


@pytest.mark.parametrize("name", ["interleaved", "shuffle_tail", "two_pass"])
def test_a_sum_without_atomics_has_the_same_bits_in_every_order(name, checked, monkeypatch, rng):
    x = make(Case(n=200_003), rng)["x"]
    assert len(bits_by_order(LADDER.step(name), monkeypatch, x)) == 1


@pytest.mark.parametrize("name", ["shuffle", "many_per_thread", "vectorised"])
def test_a_float32_sum_by_atomics_has_other_bits_in_another_order(name, checked, monkeypatch, rng):
    x = make(Case(n=200_003), rng)["x"]
    assert len(bits_by_order(LADDER.step(name), monkeypatch, x)) > 1


@pytest.mark.parametrize("name", ["interleaved", "strided_index", "sequential"])
def test_a_tree_adds_255_times_per_block_and_no_more(name, counters):
    # 8 blocks, and one over their sums
    assert counters(LADDER.step(name), Case(n=2048))[FLOPS_FP32] == 9 * 255


def test_the_strided_index_brings_the_bank_conflicts_that_the_sequential_one_takes_away(counters):
    case = Case(n=2048)  # 8 blocks, and one over their sums
    for name, per_block in (("interleaved", 0), ("strided_index", 35), ("sequential", 0)):
        counted = counters(LADDER.step(name), case)
        assert counted[SHARED_CONFLICTS_ST] == 9 * per_block
        assert counted[SHARED_CONFLICTS_LD] == 9 * 2 * per_block


@every_step
def test_a_sample_of_blocks_counts_what_all_blocks_count(step, checked, rng):
    x = make(Case(n=200_003), rng)["x"]
    totals = []
    for how in ({"sample": "all"}, {"sample": 1 << 15, "execute": "sampled"}):
        with simt.profile(**how) as profile:
            total_of(step, x)
        totals.append([launch.counters for launch in profile.launches])
    assert any(launch.sampled for launch in profile.launches)
    assert totals[0] == totals[1]


def test_shuffling_everything_parts_more_warps_than_the_tail_alone(counters):
    """Not a claim, as it goes up: each warp's lane 0 parts from it to store the warp's sum."""
    case = Case(n=16384)  # 32 blocks, and one over their sums, which fill a warp; then 32
    before, after = (counters(LADDER.step(name), case)[DIVERGENT_BRANCHES] for name in ("shuffle_tail", "shuffle"))
    assert before == 33 * 1 and after == 32 * 10


@every_step
def test_a_variance_by_two_sums_is_right_where_one_by_squares_drowns(step, rng):
    """onnxruntime PR#31973: E[x^2] - mean^2 of float32 around 1e6 is off by up to 2**16, and often negative."""
    x = np.float32(1e6) + rng.standard_normal(256, dtype=np.float32)
    mean, mean_of_squares = (total_of(step, values)[0] / np.float32(x.size) for values in (x, x * x))
    deviations = x - mean
    right = x.astype(np.float64).var()
    assert abs(total_of(step, deviations * deviations)[0] / x.size - right) < 0.1 * right
    assert abs(mean_of_squares - mean * mean - right) > 0.5 * right


# The traps


def traced(trap, x) -> tuple[np.ndarray, list]:
    with simt.profile(check="race,init,sync", sample="none") as profile:
        total = total_of(trap, x)
    return total, profile.findings


def racing(trap, findings) -> set[str]:
    """The lines of the trap's file that the findings name."""
    lines = trap.__loader__.get_source(trap.__name__).splitlines()
    return {lines[line - 1].strip() for finding in findings for _, line in finding.places}


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_the_race_checker_names_the_line_of_the_trap_though_its_values_are_right(order, checked, monkeypatch, rng):
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    x = make(Case(n=2000), rng, "integers")["x"]
    total, findings = traced(warp_synchronous, x)
    assert total.tolist() == [x.sum()]
    assert {finding.kind for finding in findings} == {"race"} and not any(finding.note for finding in findings)
    assert racing(warp_synchronous, findings) == {"tile[thread] += tile[thread + stride]"}
    threads = {int(number) for finding in findings for number in re.findall(r"thread \((\d+), 0, 0\)", finding.text)}
    assert len(threads) >= 2 and max(threads) < 32  # of one warp


@pytest.mark.parametrize(("order", "is_right"), [("forward", False), ("reverse", True)])
def test_without_barriers_the_order_of_the_warps_decides_and_the_checker_names_the_line_in_each(
    order, is_right, checked, monkeypatch, rng
):
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    x = make(Case(n=2000), rng, "integers")["x"]
    assert (total_of(hasty, x).tolist() == [x.sum()]) == is_right
    _, findings = traced(hasty, x)
    assert {finding.kind for finding in findings} == {"race"}
    assert "tile[thread] += tile[thread + stride]" in racing(hasty, findings)


@every_trap
def test_a_trap_is_told_as_a_step_is_and_is_none(trap):
    doc = parse_doc(trap.__doc__)
    assert doc["title"].startswith("Trap:")
    assert trap.__name__.rpartition(".")[2] not in [step.name for step in LADDER]


@every_trap
def test_what_a_trap_asks_for_is_counted(trap, checked, rng):
    case = Case(n=2000)
    with simt.profile(sample="all") as profile:
        total_of(trap, make(case, rng)["x"])
    counted = sum((Counter(launch.counters) for launch in profile.launches), Counter())
    cost = trap.cost(case)
    assert counted["simt__global_bytes_requested_op_ld"] == cost.load_bytes
    assert counted["simt__global_bytes_requested_op_st"] == cost.store_bytes


# Two reductions in a row


@cuda.jit
def two_sums(x, out):
    sums = cuda.shared.array(WARPS, x.dtype)
    value = x[cuda.threadIdx.x]
    first = block_sum(value, sums)
    cuda.syncthreads()  # warp 0 has read the sums
    second = block_sum(value * value, sums)
    if cuda.threadIdx.x == 0:
        out[0], out[1] = first, second


@cuda.jit
def two_sums_in_a_hurry(x, out):
    sums = cuda.shared.array(WARPS, x.dtype)
    value = x[cuda.threadIdx.x]
    first = block_sum(value, sums)
    second = block_sum(value * value, sums)
    if cuda.threadIdx.x == 0:
        out[0], out[1] = first, second


@orders
@pytest.mark.parametrize(("kernel", "kinds"), [(two_sums, set()), (two_sums_in_a_hurry, {"race"})], ids=["waits", "hurries"])
def test_two_block_sums_share_cells_only_with_a_barrier_between(order, kernel, kinds, checked, monkeypatch):
    """llama.cpp PR#26385: right values most of the time, and a write after a read all the same."""
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    x, out = cuda.to_device(np.arange(256, dtype=np.float32)), cuda.device_array(2, np.float32)
    with simt.profile(check="race,init,sync", sample="none") as profile:
        kernel[1, 256](x, out)
    assert {finding.kind for finding in profile.findings} == kinds
    if not kinds:
        assert out.copy_to_host().tolist() == [np.arange(256).sum(), (np.arange(256.0) ** 2).sum()]


@pytest.mark.parametrize("threads", [1, 2, 3, 31, 33, 63])
@every_step
def test_as_many_values_as_an_odd_block_has_threads_add_up(step, threads, rng):
    """kaldi#3036: a tree of halves goes wrong where a half is rounded up; these pad to a power of two instead."""
    x = make(Case(n=threads), rng, "int32")["x"]
    assert total_of(step, x).tolist() == [x.sum()]
