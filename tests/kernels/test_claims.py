"""What "Why faster" claims is what the emulated device counts, in the step and in the one before."""

from __future__ import annotations

import pytest

from kernels.ladder import ladder_names, load_ladder

CLAIMS = [
    pytest.param(step, claim, id=f"{step.id}-{claim.counter}")
    for name in ladder_names()
    for step in load_ladder(name).steps
    for claim in step.claims
]


@pytest.mark.parametrize(("step", "claim"), CLAIMS)
def test_a_claim_holds_before_and_after(step, claim, counters):
    assert counters(step.previous, claim.case)[claim.counter] == claim.before
    assert counters(step, claim.case)[claim.counter] == claim.after
