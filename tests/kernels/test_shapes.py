"""Arrays that do not fit together are refused by name, and where a result is empty nothing is launched."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numba import cuda

from kernels.case import Case
from kernels.ladder import ladder_names, load_ladder
from kernels.shapes import Limit, case_of
from workbook import buffers, verify

LADDERS = [load_ladder(name) for name in ladder_names()]
STEPS = [(ladder, step) for ladder in LADDERS for step in ladder]
AXES = {"x": ("b", "k"), "packed": ("n", "k/2"), "scales": ("n", "k/128")}
SMALL = 5  # of the axes that are not empty: less than 8, which is the largest batch of dequant_gemv

every_step = pytest.mark.parametrize(("ladder", "step"), STEPS, ids=lambda it: getattr(it, "id", ""))


def arrays(**shapes):
    return {name: np.empty(shape, np.int8) for name, shape in shapes.items()}


def empty_cases(ladder):
    """Every set of axes empty, the others small."""
    axes = tuple(ladder.timed_case)
    for count in range(1, len(axes) + 1):
        for empty in combinations(axes, count):
            yield Case(**{axis: 0 if axis in empty else SMALL for axis in axes})


def test_sizes_come_from_the_axes():
    assert case_of(arrays(x=(2, 257), packed=(5, 129), scales=(5, 3)), AXES, {}) == Case(b=2, k=257, n=5)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("packed", (5, 128), "packed is (5, 128); as (n, k/2) with b=2 k=257 n=5 it has to be (5, 129)"),
        ("scales", (4, 3), "scales is (4, 3); as (n, k/128) with b=2 k=257 n=5 it has to be (5, 3)"),
        ("scales", (15,), "scales is (15,); it has to be (n, k/128)"),
        ("x", (9, 257), "b is 9, and has to be from 0 to 8: why not"),
    ],
)
def test_what_does_not_fit_is_named_with_both_shapes(name, shape, said):
    given = arrays(x=(2, 257), packed=(5, 129), scales=(5, 3)) | arrays(**{name: shape})
    with pytest.raises(ValueError) as refused:
        case_of(given, AXES, {"b": Limit(0, 8, "why not")})
    assert str(refused.value) == said


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_a_ladder_names_the_axes_of_all_its_inputs(ladder, rng):
    case = ladder.cases[-1]
    for kind in ladder.kinds:
        inputs = ladder.make(case, rng, kind)
        assert inputs.keys() == ladder.axes.keys()
        assert case_of(inputs, ladder.axes, ladder.limits) == case


@every_step
def test_an_array_that_is_short_along_any_axis_is_refused(ladder, step, rng):
    case = ladder.cases[-1]
    memory = buffers.fresh(ladder, step, case, ladder.make(case, rng))
    alone = len(case) == 1  # a shorter x, of no other array's length, is another problem
    for name in memory.keys() - (ladder.axes.keys() if alone else ()):
        for axis, size in enumerate(memory[name].shape):
            shape = list(memory[name].shape)
            shape[axis] = size - 1
            with pytest.raises(ValueError, match=r"\w+ is \(.*; .*it has to be \("):
                step.run(memory | {name: cuda.device_array(tuple(shape), memory[name].dtype)}, 0)


@every_step
def test_shapes_are_looked_at_before_a_clock_can_start(ladder, step, rng, monkeypatch):
    case, ran = ladder.cases[-1], []
    memory = buffers.fresh(ladder, step, case, ladder.make(case, rng))
    monkeypatch.setattr(step.module, "run", lambda buffers, stream: ran.append((buffers, stream)))
    launch = step.prepared(memory)
    monkeypatch.setattr(ladder, "has_work", None)
    assert ran == []
    launch(7)
    assert ran == [(memory, 7)]


@every_step
def test_of_nothing_the_result_is_empty_or_what_the_reference_says(ladder, step, rng):
    """An empty sum is 0, plus the bias where there is one; a row without columns has the scale 0."""
    for case in empty_cases(ladder):
        if any(case[axis] < limit.least for axis, limit in ladder.limits.items()):
            continue  # argmax of nothing; test_argmax.py
        for kind in ladder.kinds if ladder.name == "reduction" else ("normal",):
            inputs = ladder.make(case, rng, kind)
            memory = buffers.fresh(ladder, step, case, inputs)
            step.run(memory, 0)
            outputs = {name: memory[name].copy_to_host() for name in ladder.outputs(case, inputs)}
            assert verify.wrong_cells(ladder, case, inputs, outputs) == {}, case


@every_step
def test_where_something_is_written_of_nothing_the_cost_is_what_is_counted(ladder, step, counters):
    for case in empty_cases(ladder):
        limits = ladder.limits.items()
        if any(case[axis] < limit.least for axis, limit in limits):
            continue
        counted, cost = counters(step, case), step.cost(case)
        if any(counted.values()):
            assert counted["simt__global_bytes_requested_op_ld"] == cost.load_bytes, case
            assert counted["simt__global_bytes_requested_op_st"] == cost.store_bytes, case
            assert cost.flops >= 0
