"""Each wrong kernel of tests/kernels/mutants is rejected, by the check that is meant for it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import simt
from kernels.case import Case
from kernels.ladder import Ladder, Step, families, load_ladder, load_step
from tests.kernels.mutants import Mutant
from workbook import buffers, verify
from workbook.target import Emulated

FILES = sorted(path.stem for path in (Path(__file__).parent / "mutants").glob("[a-z]*.py"))
MUTANTS = {name: importlib.import_module(f"tests.kernels.mutants.{name}").MUTANTS for name in FILES}
ALL = [mutant for mutants in MUTANTS.values() for mutant in mutants]
CHECKERS = ("race", "init", "sync")
ENOUGH = 20
SEED = 3  # always the same: on random inputs a wrong sum is right by chance now and then


@pytest.fixture
def wrong_step(tmp_path, monkeypatch):
    """wrong_step(mutant) -> the step with the edit, as a module of its own."""

    def made(mutant: Mutant) -> Step:
        right = load_step(mutant.step)
        path = tmp_path / right.path.name
        path.write_text(right.source.replace(mutant.old, mutant.new), encoding="utf-8")
        name = f"mutant.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return Step(right.ladder, name, right.previous)

    return made


def buffers_for(ladder: Ladder, step: Step, case: Case, kind: str) -> dict:
    return buffers.fresh(ladder, step, case, ladder.make(case, np.random.default_rng(SEED), kind))


def failure_of(ladder: Ladder, step: Step, mutant: Mutant) -> verify.Failure | None:
    """What workbook.verify says of the step, on the first problem that it does not pass."""
    target = Emulated(simt.device())
    for case in (mutant.case,) if mutant.case else ladder.cases:
        for problem in verify.problems(ladder, case, np.random.default_rng(SEED)):
            if mutant.kind in (None, problem.kind) and (failure := verify.verify(ladder, step, problem, target)):
                return failure
    return None


def findings_of(ladder: Ladder, step: Step, case: Case, kind: str, check: str) -> set[str]:
    """Kinds of what the checkers find; "sync" where the device stops the launch over a barrier."""
    from numba import cuda

    try:
        with simt.profile(check=check, sample="none") as profile:
            step.run(buffers_for(ladder, step, case, kind), 0)
            cuda.synchronize()
    except Exception as error:
        assert "barrier" in "".join(getattr(error, "__notes__", ())), error
        return {"sync"}
    return {finding.kind for finding in profile.findings if not finding.note}


def count_of(ladder: Ladder, step: Step, case: Case, kind: str, counter: str) -> int:
    with simt.profile(sample="all") as profile:
        step.run(buffers_for(ladder, step, case, kind), 0)
    return sum((Counter(launch.counters) for launch in profile.launches), Counter())[counter]


@pytest.mark.many
@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.id)
def test_a_wrong_kernel_is_rejected_by_the_check_meant_for_it(mutant, wrong_step, emulated):
    right, step = load_step(mutant.step), wrong_step(mutant)
    ladder = load_ladder(right.ladder)
    case, kind = mutant.case or ladder.cases[-1], mutant.kind or next(iter(ladder.kinds))
    if mutant.check in CHECKERS:
        assert mutant.check in findings_of(ladder, step, case, kind, mutant.check)
    elif mutant.check.startswith("budget:"):
        counter = mutant.check.removeprefix("budget:")
        before, after = (count_of(ladder, one, case, kind, counter) for one in (right, step))
        assert after > before
    else:
        failure = failure_of(ladder, step, mutant)
        assert failure is not None, "it passes"
        said = "\n".join((failure.what, *failure.lines))
        stray = "stores past the end" in said or "stores before the start" in said or "ILLEGAL_ADDRESS" in said
        assert stray if mutant.check == "bounds" else failure.what.startswith("wrong result") and not stray, said


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.id)
def test_a_mutant_changes_one_place_of_the_step_as_it_is_today(mutant):
    assert load_step(mutant.step).source.count(mutant.old) == 1 and mutant.old != mutant.new
    assert mutant.check in ("values", "bounds", *CHECKERS) or mutant.check.startswith("budget:")


@pytest.mark.parametrize("family", families())
def test_a_family_has_twenty_wrong_kernels_each_of_its_own_kind(family):
    mutants = [mutant for mutant in ALL if mutant.step.partition("/")[0] in families()[family]]
    assert len({(mutant.step, mutant.old, mutant.new) for mutant in mutants}) == len(mutants) >= ENOUGH
    assert len({mutant.id for mutant in mutants}) == len(mutants)


def test_a_file_of_mutants_is_of_one_family():
    for name, mutants in MUTANTS.items():
        ladders = {mutant.step.partition("/")[0] for mutant in mutants}
        assert any(ladders <= set(known) for known in families().values()), name
