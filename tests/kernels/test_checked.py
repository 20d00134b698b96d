"""No step of a ladder races, reads what nobody wrote, or misses a barrier, in whatever order warps and blocks run."""
from __future__ import annotations

import numpy as np
import pytest

import simt
from kernels.ladder import Step, load_ladder
from kernels.matmul import LADDER


@pytest.mark.parametrize("schedule", ["forward", "reverse", "7"])
@pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)
def test_checkers_find_nothing(step: Step, schedule: str, monkeypatch):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device checks")
    from numba import cuda

    monkeypatch.setenv("SIMT_SCHEDULE", schedule)
    ladder = load_ladder(step.ladder)
    case = next(case for case in ladder.cases if min(case.values()) > 32)
    with simt.profile(check="race,init,sync", sample="none") as profile:
        buffers = {name: cuda.to_device(array) for name, array in ladder.make(case, np.random.default_rng(3)).items()}
        for name, (shape, dtype) in (ladder.outputs(case) | step.scratch(case)).items():
            buffers[name] = cuda.device_array(shape, dtype)
        step.run(buffers, 0)
    assert profile.launches and profile.findings == []
