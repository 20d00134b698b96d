"""No step of a ladder races, reads what nobody wrote, or misses a barrier, in whatever order warps and blocks run."""
from __future__ import annotations

import numpy as np
import pytest

import simt
from kernels.ladder import Step, ladder_names, load_ladder
from workbook import buffers

STEPS = [step for name in ladder_names() for step in load_ladder(name)]
BLOCKS = 3      # of the step's own kernels; fewer would hide what blocks do to each other


@pytest.mark.parametrize("schedule", ["forward", "reverse", "7"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_checkers_find_nothing(step: Step, schedule: str, monkeypatch):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device checks")
    monkeypatch.setenv("SIMT_SCHEDULE", schedule)
    ladder = load_ladder(step.ladder)
    launches = []
    for case in ladder.checked:
        with simt.profile(check="race,init,sync", sample="none") as profile:
            step.run(buffers.fresh(ladder, step, case, ladder.make(case, np.random.default_rng(3))), 0)
        assert profile.findings == [], case
        launches += profile.launches
    own = f"{len(step.path.stem)}{step.path.stem}"      # as names of kernels have it
    assert max(launch.blocks_total for launch in launches if own in launch.kernel) >= BLOCKS
