"""Random kernels do on the emulated device what they do in plain Python; tests/fuzz says how.

The programs here are always the same, so that a change is judged by the change alone; `python -m tests.fuzz` makes new ones.
"""
from __future__ import annotations

import pytest

from simt.jit.flow import Flow
from tests.fuzz.generator import generate
from tests.fuzz.runner import Case, NotCompiled, case_of, problem
from tests.fuzz.script import script

GROUPS, PROGRAMS, SIZE = 8, 5, 4
FIRST = 1000                # number of the first program


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """Kernels that nobody runs again would only fill it."""
    monkeypatch.setenv("SIMT_CACHE", "off")


def case(number: int) -> Case | None:
    try:
        return case_of(generate(number, SIZE))
    except NotCompiled:
        return None


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_kernels_agree_with_plain_python(group):
    first = FIRST + group * PROGRAMS
    for number in range(first, first + PROGRAMS):
        made = case(number)
        kind, details = problem(made, counted=number % 10 == 0) if made else ("", "")
        assert not kind, (f"{kind}: {details}\nto shrink it: python -m tests.fuzz --programs 1 --seed {number} --size {SIZE}\n"
                          f"{script(generate(number, SIZE))}")


def test_most_random_programs_compile():
    """What Numba refuses is no test."""
    assert sum(case(number) is not None for number in range(FIRST, FIRST + 10)) >= 9


def test_a_device_that_writes_phis_in_all_lanes_does_not_agree(monkeypatch):
    monkeypatch.setattr(Flow, "phi_mask", lambda self, mask: None)
    assert "mismatch" in (problem(made)[0] for number in range(20) if (made := case(number)))
