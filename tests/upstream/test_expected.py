"""What a run says about the committed list of tests that do not pass."""
from __future__ import annotations

import pytest

from tests.upstream import expected
from tests.upstream.expected import NonPass
from tests.upstream.runner import Result

FAILS = {"cudapy/test_a.py::A::test_one": NonPass("failed", "the device lacks it")}


def result(test: str, outcome: str, message: str = "") -> Result:
    return Result(test, outcome, message, 0.1)


def test_a_run_as_listed_says_nothing():
    found = [result("cudapy/test_a.py::A::test_one", "failed"), result("cudapy/test_a.py::A::test_two", "passed")]
    assert expected.surprises(found, FAILS) == []
    assert expected.gone(found, FAILS) == []


def test_a_listed_test_that_passes_is_told():
    [said] = expected.surprises([result("cudapy/test_a.py::A::test_one", "passed")], FAILS)
    assert said == "passed, but non_passes.toml lists it as failed: cudapy/test_a.py::A::test_one"


def test_a_listed_test_may_pass_where_its_reason_does_not_hold():
    listed = {"cudapy/test_a.py::A::test_one": NonPass("skipped", "root can write everywhere", passes_elsewhere=True)}
    assert expected.surprises([result("cudapy/test_a.py::A::test_one", "passed")], listed) == []
    assert expected.surprises([result("cudapy/test_a.py::A::test_one", "failed")], listed)


@pytest.mark.parametrize("outcome", ["failed", "crashed", "timeout", "skipped", "xfailed"])
def test_an_unlisted_test_that_does_not_pass_is_told_with_its_message(outcome):
    [said] = expected.surprises([result("cudapy/test_a.py::A::test_two", outcome, "ValueError: no\nfurther")], FAILS)
    assert said.splitlines() == [f"{outcome}, and not in non_passes.toml: cudapy/test_a.py::A::test_two",
                                 "    ValueError: no", "    further"]


def test_a_listed_test_that_ends_in_another_way_is_told():
    [said] = expected.surprises([result("cudapy/test_a.py::A::test_one", "crashed")], FAILS)
    assert said == "crashed, but non_passes.toml lists it as failed: cudapy/test_a.py::A::test_one"


def test_a_listed_test_that_no_longer_exists_is_told():
    assert expected.gone([], FAILS) == ["listed, but no such test ran: cudapy/test_a.py::A::test_one"]


def test_a_test_listed_twice_is_an_error(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text('[[reason]]\nwhy = "a"\noutcome = "failed"\ntests = ["x"]\n'
                    '[[reason]]\nwhy = "b"\noutcome = "skipped"\ntests = ["x"]\n')
    with pytest.raises(ValueError, match="lists x twice"):
        expected.read(path)


def test_every_listed_test_has_a_reason_in_words():
    listed = expected.read()
    assert listed
    assert {known.outcome for known in listed.values()} <= {"failed", "skipped", "xfailed"}
    assert all(len(known.why.split()) > 3 for known in listed.values())
