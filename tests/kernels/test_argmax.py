"""The yardstick of argmax: its inputs, NumPy's order of pairs, and what its steps do with equals and NaN."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from kernels.case import Case
from kernels.ladder import load_ladder
from kernels.reduction.argmax import KINDS, LADDER, make, reference, tolerance
from kernels.reduction.argmax.s10_shared_tree import NOBODY, WORST, beats
from kernels.reduction.argmax.s30_packed_atomic import packed
from workbook import buffers

ORDERS = ("forward", "reverse", "1", "2")
NAN, INF = np.nan, np.inf
IN_ORDER = [NAN, INF, 3e38, 1.5, 1.0, 1e-45, 0.0, -1e-45, -1.0, -3e38, -INF]  # the best first

every_step = pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)


def index_of(step, x: np.ndarray) -> int:
    """What the step finds in x."""
    x = np.asarray(x, np.float32)
    case, inputs = Case(n=x.size), {"x": x}
    memory = buffers.fresh(LADDER, step, case, inputs)
    step.run(memory, 0)
    return int(memory["index"].copy_to_host()[0])


def test_the_ladder_is_registered_under_its_name():
    assert load_ladder("argmax") is LADDER


def test_the_cases_include_the_corners():
    found = {case["n"] for case in LADDER.cases}
    assert {1, 2, 3, 31, 33, 63, 255, 257, 8191, 8193} <= found
    assert any(n > 3 * 8192 and n % 8192 for n in found)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_float32_and_have_the_length_of_the_case(kind, rng):
    for n in (1, 1009):
        x = make(Case(n=n), rng, kind)["x"]
        assert x.shape == (n,) and x.dtype == np.float32


def test_each_kind_has_what_its_name_says(rng):
    case = Case(n=1009)
    whole, zeros, infinite, nan = (make(case, rng, kind)["x"] for kind in ("integers", "zeros", "infinite", "nan"))
    assert (whole == whole.max()).sum() > 1  # equals, of which the first counts
    assert 0 < np.isnan(nan).sum() < 1009 and np.isinf(nan).any()
    assert {-INF, INF} < set(np.unique(infinite))
    signs = np.signbit(zeros[zeros == 0])
    assert set(np.unique(zeros)) == {-INF, 0.0} and signs[0] and not signs[-1]


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="normal, integers, zeros, infinite, nan, not 'ones'"):
        make(Case(n=1), rng, "ones")


@pytest.mark.parametrize(
    ("x", "index"),
    [
        ([5], 0),
        ([1, 3, 2], 1),
        ([1, 3, 3, 3], 1),  # the lowest among equals
        ([-0.0, 0.0], 0),  # equals too
        ([0.0, -0.0], 0),
        ([-INF, -INF], 0),  # no start value may win over them
        ([1, NAN, INF], 1),  # NaN before infinity
        ([1, -NAN, NAN], 1),  # of either sign; the first of them
        ([-1, -2, -0.5], 2),
        ([-3e38, -INF], 0),
        ([0.0, 1e-45], 1),  # a subnormal
    ],
)
@every_step
def test_a_step_says_what_numpy_says(step, x, index):
    assert int(reference({"x": np.asarray(x, np.float32)})["index"][0]) == index
    assert index_of(step, x) == index


def test_there_is_no_tolerance(rng):
    case = Case(n=3)
    assert tolerance(case, make(case, rng)) == {"index": 0.0}


@every_step
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("value", [1.0, NAN], ids=["equals", "NaN"])
def test_blocks_that_hold_equals_agree_on_the_lowest_in_every_order(step, order, value, emulated, monkeypatch):
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    x = np.zeros(5 * 8192 + 7, dtype=np.float32)
    x[[8193 + 300, 8193 + 301, 3 * 8192, 5 * 8192 + 6]] = value
    assert index_of(step, x) == 8193 + 300


@every_step
def test_each_thread_may_hold_the_best(step):
    for index in (0, 1, 31, 32, 255, 256, 8191, 8192, 8193, 9000):
        x = np.full(9001, -INF, dtype=np.float32)
        x[index] = -1e38
        assert index_of(step, x) == index


@every_step
def test_of_no_values_there_is_no_largest(step):
    x, index = np.empty(0, np.float32), np.empty(1, np.int64)
    with pytest.raises(ValueError, match="n is 0, and has to be from 1 to 2147483647: of none, there is no largest"):
        step.run({"x": x, "index": index}, 0)


@cuda.jit
def compared(values, indices, before, keys):
    i, j = cuda.grid(2)
    if i < values.size and j < values.size:
        before[i, j] = beats(values[i], indices[i], values[j], indices[j])
        keys[i] = packed(values[i], indices[i])


def test_the_order_of_pairs_is_total_and_the_packed_number_keeps_it():
    """Every value twice, with two indices; and the pair of nobody behind all."""
    values = np.repeat(np.array(IN_ORDER, np.float32), 2)
    values[1], values[13] = -np.float32(NAN), -0.0  # NaN and zero have two signs each
    indices = np.tile(np.array([7, 2**31 - 2], np.int32), len(IN_ORDER))
    values, indices = np.append(values, WORST), np.append(indices, NOBODY)
    before = cuda.to_device(np.zeros((values.size, values.size), np.bool_))
    keys = cuda.to_device(np.zeros(values.size, np.uint64))
    compared[(2, 2), (16, 16)](values, indices, before, keys)
    first = np.arange(values.size)
    np.testing.assert_array_equal(before.copy_to_host(), first[:, None] < first[None])
    falling = keys.copy_to_host()
    assert np.all(falling[:-1] > falling[1:]) and falling[-1] > 0
