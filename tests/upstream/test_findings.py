"""What a run under checkers says about the committed list of findings, and what comes through from a child process."""
from __future__ import annotations

import pytest

from tests.upstream import expected, findings, runner
from tests.upstream.runner import Result

ONE, TWO = "cudapy/test_a.py::A::test_one", "cudapy/test_a.py::A::test_two"
RACES = {ONE: {"race": "two threads write it", "init": "nobody writes it"}}


def result(test: str, *kinds: str) -> Result:
    found = [{"kind": kind, "places": ["test_a.py:7"], "text": f"a {kind}", "kernel": "k"} for kind in kinds]
    return Result(test, "passed", "", 0.1, 1, found)


def test_a_run_as_listed_says_nothing():
    found = [result(ONE, "race", "init"), result(TWO)]
    assert findings.surprises(found, RACES, "race,init,sync") == []
    assert findings.gone(found, RACES) == []


def test_an_unlisted_finding_is_told_in_its_words():
    found = [result(ONE, "race", "init", "race note"), result(TWO, "sync")]
    assert findings.surprises(found, RACES, "race,init,sync") == [
        f"race note, and not in findings.toml: {ONE}\n    a race note",
        f"sync, and not in findings.toml: {TWO}\n    a sync"]


def test_a_listed_finding_that_does_not_come_is_told_if_its_checker_ran():
    found = [result(ONE, "race")]
    assert findings.surprises(found, RACES, "race,init") == [f"no init, but findings.toml lists one: {ONE}"]
    assert findings.surprises(found, RACES, "race") == []


@pytest.mark.parametrize("kind", ["race", "race note", "alias"])
def test_each_kind_has_its_checker(kind):
    assert findings.checker_of(kind) == "race"


def test_a_listed_test_that_no_longer_exists_is_told():
    assert findings.gone([], RACES) == [f"listed in findings.toml, but no such test ran: {ONE}"]


def test_a_finding_listed_twice_is_an_error(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text(2 * '[[reason]]\nwhy = "a"\nkind = "race"\ntests = ["x"]\n')
    with pytest.raises(ValueError, match="lists race of x twice"):
        findings.read(path)


def test_every_listed_finding_has_a_kind_and_a_reason_in_words():
    listed = findings.read()
    assert listed
    for kinds in listed.values():
        assert {findings.checker_of(kind) for kind in kinds} <= set(findings.CHECKS)
        assert all(len(why.split()) > 3 for why in kinds.values())


def test_numba_cudas_own_tests_have_the_listed_findings():
    """A test whose kernel reads what nobody writes, and two that are sound: tiles, and a compare-and-swap loop."""
    issue = "cudapy/test_sm.py::TestSharedMemoryIssue::test_issue_2393"
    sound = ["cudapy/test_sync.py::TestCudaSync::test_simple_smem",
             "cudapy/test_atomics.py::TestCudaAtomics::test_atomic_max_double"]
    found = runner.run_shard([issue, *sound], check="race,init,sync")
    assert findings.surprises(found.values(), findings.read(), "race,init,sync") == []
    assert expected.surprises(found.values(), expected.read()) == []
    assert {one["kind"] for one in found[issue].findings} == {"init", "race note"}
    assert [(found[test].launches, list(found[test].findings)) for test in sound] == [(1, []), (1, [])]
