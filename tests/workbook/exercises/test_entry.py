"""Names of exercises, and what every entry promises."""

from __future__ import annotations

import pytest

from kernels.ladder import UnknownName
from simt.observe import names
from workbook.exercises import entry, upkeep

EXERCISES = entry.exercises()


def test_a_name_a_bare_word_and_a_file_mean_the_same() -> None:
    assert entry.find("matmul/tiled") is entry.find("tiled") is entry.find("exercises/matmul/tiled.py")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'matmul/tiled'"):
        entry.find("matmul/tield")


def test_a_word_of_two_tracks_needs_its_track(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    twin = dataclasses.replace(entry.find("tiled"), name="first/tiled")
    monkeypatch.setattr(entry, "exercises", lambda tracks=(): (*EXERCISES, twin))
    with pytest.raises(UnknownName, match="no single exercise"):
        entry.find("tiled")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_budgets_and_cases_are_known(exercise: entry.Exercise) -> None:
    assert exercise.title
    assert exercise.checked_case in exercise.problem.cases
    for budget in exercise.budgets:
        assert {budget.counter, budget.per or budget.counter} <= set(names.COUNTERS)
        assert set(budget.case) == set(exercise.problem.cases[0])


def test_nothing_is_orphaned_listed_twice_or_without_hints() -> None:
    """Stubs in exercises/ may be a reader's: `exercise verify` compares them."""
    assert upkeep.twice(EXERCISES) == []
    assert [fault for fault in upkeep.orphans() if fault.startswith("solutions/")] == []
    own = [fault for exercise in EXERCISES for fault in upkeep.static_faults(exercise)]
    assert [fault for fault in own if ": exercises/" not in fault] == []
