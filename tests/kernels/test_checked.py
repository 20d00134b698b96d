"""No step of a ladder races, reads what nobody wrote, or misses a barrier, in whatever order warps and blocks run."""
from __future__ import annotations

import math

import numpy as np
import pytest

import simt
from kernels.case import Case
from kernels.ladder import Ladder, Step, ladder_names, load_ladder

FEW_TILES = 32**3
STEPS = [step for name in ladder_names() for step in load_ladder(name)]


def ragged(ladder: Ladder) -> Case:
    """The smallest case of several tiles with an odd size."""
    volume = {case: math.prod(case.values()) for case in ladder.cases if any(size % 2 for size in case.values())}
    return min((case for case in volume if volume[case] > FEW_TILES), key=volume.get)


@pytest.mark.parametrize("schedule", ["forward", "reverse", "7"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_checkers_find_nothing(step: Step, schedule: str, monkeypatch):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device checks")
    from numba import cuda

    monkeypatch.setenv("SIMT_SCHEDULE", schedule)
    ladder = load_ladder(step.ladder)
    case = ragged(ladder)
    with simt.profile(check="race,init,sync", sample="none") as profile:
        inputs = ladder.make(case, np.random.default_rng(3))
        buffers = {name: cuda.to_device(array) for name, array in inputs.items()}
        for name, (shape, dtype) in (ladder.outputs(case, inputs) | step.scratch(case, inputs)).items():
            buffers[name] = cuda.device_array(shape, dtype)
        step.run(buffers, 0)
    assert profile.launches and profile.findings == []
