"""A climb gathers, per step: the cases that came out right, or one failure; and a time."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
from kernels.ladder import Ladder
from workbook import climb as climbing
from workbook import results


def climb(toy, target, seed, steps=None, watch=lambda text: None):
    return climbing.climb(toy, target, toy.timed_case, seed, steps or list(toy.steps), watch)


@pytest.fixture
def broken_fast(replace_run):
    """The second step of the toy ladder stops before the last row."""

    def run(buffers, stream):
        buffers["c"][:-1] = (buffers["a"] @ buffers["b"])[:-1]

    replace_run("fast", run)


def test_right_steps_are_verified_on_every_case_and_timed(toy, target, seed):
    climbed = climb(toy, target, seed)
    assert [result.failure for result in climbed.results] == [None] * 3
    assert all(result.cases_verified == toy.cases for result in climbed.results)
    assert [climbed.timings[step].time_ns for step in toy.steps] == [64000, 4000, 5000]
    assert climbed.minimum_bytes == 3 * 64 * 64 * 4


def test_the_minimum_traffic_leaves_out_inputs_that_repeat_another(toy, target, seed, monkeypatch):
    monkeypatch.setattr(toy, "repeated", {"b"})
    assert climb(toy, target, seed).minimum_bytes == 2 * 64 * 64 * 4


def test_a_wrong_step_is_not_timed_and_the_others_go_on(toy, target, seed, broken_fast):
    slow, fast, wide = climb(toy, target, seed).results
    assert slow.failure is None and wide.failure is None
    assert fast.timing is None and fast.cases_verified == ()
    assert "never written: row 1 (3 cells)" in fast.failure.lines


def test_the_clearest_diagnosis_wins_over_the_smallest_case(toy, target, seed, replace_run):
    def run(buffers, stream):
        buffers["c"][...] = buffers["a"][:, :16] @ buffers["b"][:16]

    replace_run("fast", run)
    fast = climb(toy, target, seed).results[1]
    assert fast.cases_verified == toy.cases[:1]  # k = 1 fits into the first tile
    assert fast.failure.what == "wrong result on m=33 n=17 k=21, integer-valued inputs"
    assert fast.failure.lines[1] == "k is 21, but the result stops at 16: the last, partial tile of 16 is missing"


def test_a_step_that_raises_stops_at_once_and_the_others_go_on(toy, target, seed, replace_run):
    calls = []

    def run(buffers, stream):
        calls.append(1)
        raise TypeError("no match for operator")

    replace_run("fast", run)
    slow, fast, wide = climb(toy, target, seed).results
    assert len(calls) == 1
    assert fast.failure.lines[0] == "no match for operator"
    assert slow.failure is None and wide.failure is None


def test_steps_after_a_lost_device_are_not_run(toy, target, seed, replace_run):
    def run(buffers, stream):
        target.lost = RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
        raise target.lost

    replace_run("fast", run)
    wide = climb(toy, target, seed).results[2]
    assert wide.failure.what == "not run"
    assert wide.failure.lines == ("the device accepts no more work since toy/fast failed: CUDA_ERROR_ILLEGAL_ADDRESS",)


def test_one_step_alone_is_compared_with_the_first_and_the_one_before(toy, target, seed):
    climbed = climb(toy, target, seed, steps=[toy.steps[2]])
    assert [result.step.name for result in climbed.results] == ["wide"]
    assert {step.name for step in climbed.timings} == {"slow", "fast", "wide"}


def test_the_same_seed_gives_the_same_inputs(toy, target, seed, replace_run):
    def seen(seed):
        inputs = []

        def run(buffers, stream):
            buffers["c"][...] = buffers["a"] @ buffers["b"]
            stream.append({"time_ns": 1.0, "sectors": 1, "registers": 1})
            inputs.append(buffers["a"].copy())

        replace_run("fast", run)
        climb(toy, target, seed)
        return inputs[2:]  # the first case is so small that other seeds may give the same numbers

    first, again, other = seen(seed), seen(seed), seen(seed + 1)
    assert len(first) == 5  # two kinds of inputs for each of two cases, and the timed one
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    assert not any(np.array_equal(x, y) for x, y in zip(first, other, strict=True))


def test_the_watcher_is_told_as_often_as_announced(toy, target, seed):
    for steps in (list(toy.steps), [toy.steps[2]], [toy.steps[0]]):
        said = []
        climb(toy, target, seed, steps, said.append)
        assert len(said) == climbing.watched(toy, steps)


def test_a_step_that_is_no_python_fails_alone(toy, target, seed, tmp_path, monkeypatch):
    monkeypatch.setattr("kernels.__path__", [*kernels.__path__, str(tmp_path)])
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "__init__.py").touch()
    (tmp_path / "torn" / "s10_slow.py").write_text(toy.step("slow").source)
    (tmp_path / "torn" / "s20_torn.py").write_text("def run(buffers, stream)\n    pass\n")
    parts = {name: getattr(toy, name) for name in ("make", "reference", "tolerance", "outputs", "cases", "timed_case")}
    climbed = climb(Ladder("kernels.torn", **parts, steps=("s10_slow", "s20_torn")), target, seed)
    slow, torn = results.rows(climbed)
    assert slow.verified and slow.gflops > 0
    assert not torn.verified and torn.changed == ""
    assert climbed.results[1].failure.lines == ("expected ':' (s20_torn.py, line 1)",)


@pytest.mark.parametrize("error", [MemoryError("40 GiB"), RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")])
def test_a_case_that_does_not_fit_is_said_to_be_too_large(toy, target, seed, monkeypatch, error):
    def refuse(*arguments):
        raise error

    monkeypatch.setattr(target, "empty", refuse, raising=False)
    with pytest.raises(climbing.TooLarge, match=f"m=64 n=64 k=64 does not fit in memory: {error}"):
        climb(toy, target, seed)
