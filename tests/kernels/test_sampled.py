"""Counters of sampled blocks, scaled, are those of all blocks; and what the ladder's rungs are worth at real size."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import Case
from kernels.matmul import LADDER
from simt.model import names, retime
from simt.model.device import load

FEW = 1 << 15                   # one block in so many: one or two of each class
RAGGED = Case(m=396, n=420, k=36)


def profiles(step, case, **how):
    inputs = {name: cuda.device_array(shape, np.float32) for name, shape in
              (("a", (case["m"], case["k"])), ("b", (case["k"], case["n"])))}
    outputs = {name: cuda.device_array(shape, dtype) for name, (shape, dtype) in LADDER.outputs(case, inputs).items()}
    with simt.profile(**how) as profile:
        step.run(inputs | outputs, cuda.default_stream())
    return profile.launches


@pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)
def test_a_sample_of_a_ragged_grid_counts_what_all_blocks_count(step):
    everything = profiles(step, RAGGED, sample="all")
    few = profiles(step, RAGGED, sample=FEW, execute="sampled")
    assert [launch.counters for launch in few] == [launch.counters for launch in everything]
    assert any(launch.sampled for launch in few)


@pytest.mark.parametrize("name", ["tiled", "bank_free", "double_buffer"])
def test_a_sample_at_512_cubed_counts_what_all_blocks_count(name):
    step, case = LADDER.step(name), Case(m=512, n=512, k=512)
    everything = profiles(step, case, sample="all")
    few = profiles(step, case, sample=FEW, execute="sampled")
    assert [launch.counters for launch in few] == [launch.counters for launch in everything]


def test_the_rungs_rise_and_the_best_is_twenty_times_the_first_on_every_device():
    """Counters at 2048 cubed, registers of the current device, times of each device's model."""
    case = Case(m=2048, n=2048, k=2048)
    counted = {step.name: profiles(step, case, sample=FEW, execute="sampled") for step in LADDER}
    for device in map(load, names()):
        times = {name: sum(retime(launch, device).time_ns for launch in launches) for name, launches in counted.items()}
        first = [times[step.name] for step in list(LADDER)[:5]]
        assert first == sorted(first, reverse=True), device.name
        assert times["naive"] >= 20 * min(times.values()), device.name
