"""No step of a ladder races, reads what nobody wrote, or misses a barrier, in whatever order warps and blocks run."""
from __future__ import annotations

import numpy as np
import pytest

import simt
from kernels.ladder import Step, ladder_names, load_ladder
from workbook import buffers, cases

STEPS = [step for name in ladder_names() for step in load_ladder(name)]


@pytest.mark.parametrize("schedule", ["forward", "reverse", "7"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_checkers_find_nothing(step: Step, schedule: str, monkeypatch):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device checks")
    monkeypatch.setenv("SIMT_SCHEDULE", schedule)
    ladder = load_ladder(step.ladder)
    case = cases.ragged(ladder.cases)
    with simt.profile(check="race,init,sync", sample="none") as profile:
        step.run(buffers.fresh(ladder, step, case, ladder.make(case, np.random.default_rng(3))), 0)
    assert profile.launches and profile.findings == []
