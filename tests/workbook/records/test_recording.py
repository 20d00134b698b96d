"""A record holds the counts of every step that was proven right, and nothing of one that was not."""

from __future__ import annotations

import pytest

from kernels.case import Case
from simt import model
from simt.observe import names
from workbook import timing
from workbook.records import measuring, recording, schema


def make(family, target, **how):
    return recording.make([family], target, **{"prove": True, **how})


def test_a_modelled_run_has_counters_resources_and_time(family, target):
    made = make(family, target)
    assert made.failures == [] and [run["step"] for run in made.runs] == ["toy/slow", "toy/fast", "toy/wide"]
    fast = made.runs[1]
    assert fast["fingerprint"] == family.step("fast").fingerprint
    assert fast["case"] == {"m": 64, "n": 64, "k": 64}
    assert fast["time_ns"] == 4000 and fast["sampled"] is True
    assert fast["counters"][names.GLOBAL_SECTORS_LD] == {"value": 400, "tag": "exact"}
    (launch,) = fast["launches"]
    assert launch == {
        "kernel": "toy", "grid": [1, 1, 1], "block": [32, 1, 1], "registers": 32, "shared_bytes": 0, "local_bytes": 0,
        "time_ns": 4000, "bound_by": "lsu",
    }


def test_counters_are_totals_over_launches_under_the_weakest_tag(family, target, replace_run, monkeypatch):
    def two_launches(buffers, stream):
        buffers["c"][...] = buffers["a"] @ buffers["b"]
        stream.append({"time_ns": 1000.0, "sectors": 400, "registers": 16})
        stream.append({"time_ns": 3000.0, "sectors": 1600, "registers": 64})

    replace_run("fast", two_launches)
    timed = type(target).time

    def tagged(self, run):
        result = timed(self, run)
        if len(result.launches) == 2:
            result.launches[1].tags[names.GLOBAL_SECTORS_LD] = "estimated"
        return result

    monkeypatch.setattr(type(target), "time", tagged)
    fast = make(family, target).runs[1]
    assert fast["time_ns"] == 4000
    assert fast["counters"][names.GLOBAL_SECTORS_LD] == {"value": 2000, "tag": "estimated"}
    assert fast["counters"][names.INSTRUCTIONS] == {"value": 2000, "tag": "exact"}
    assert [launch["registers"] for launch in fast["launches"]] == [16, 64]


def test_a_wrong_step_is_not_timed_and_not_recorded(family, target, replace_run):
    timed = []

    def run(buffers, stream):
        if buffers["c"].shape == (64, 64):
            timed.append(1)

    replace_run("fast", run)
    made = make(family, target)
    assert [run["step"] for run in made.runs] == ["toy/slow", "toy/wide"]
    assert [step for step, _ in made.failures] == ["toy/fast"] and timed == []


def test_a_step_that_fails_only_when_timed_is_not_recorded(family, target, replace_run):
    def run(buffers, stream):
        if buffers["c"].shape == (64, 64):
            raise RuntimeError("too much shared memory")
        buffers["c"][...] = buffers["a"] @ buffers["b"]

    replace_run("fast", run)
    made = make(family, target)
    assert [run["step"] for run in made.runs] == ["toy/slow", "toy/wide"]
    assert made.failures[0][1].lines[-1] == "too much shared memory"


def test_without_proof_nothing_runs_but_the_timed_case(family, target, replace_run):
    shapes = []

    def run(buffers, stream):
        shapes.append(buffers["c"].shape)
        stream.append({"time_ns": 1.0, "sectors": 1, "registers": 1})

    replace_run("fast", run)
    make(family, target, prove=False)
    assert shapes == [(64, 64)]


def test_steps_that_are_known_to_be_wrong_are_left_out(family, target):
    assert [run["step"] for run in make(family, target, without={"toy/slow"}).runs] == ["toy/fast", "toy/wide"]


def test_the_sizes_of_published_figures_are_recorded_on_their_device_only(family, target, monkeypatch):
    monkeypatch.setattr(
        "workbook.records.published.cases", lambda ladder, device: (Case(m=8, n=8, k=8),) if device == "a6000" else ()
    )
    assert recording.cases_of(family, "h100") == (family.timed_case,)
    target.key = "a6000"
    runs = make(family, target).runs
    assert [(run["step"], run["case"]["m"]) for run in runs] == [
        (f"toy/{name}", size) for size in (64, 8) for name in ("slow", "fast", "wide")
    ]


def test_a_modelled_record_says_what_made_it(document):
    assert document["kind"] == "modelled" and document["family"] == "toy" and document["device"] == "h100"
    assert document["model"] == {"version": model.MODEL_VERSION, "error_percent": None}
    assert document["method"] == {"timer": "model", "seed": recording.SEED, "one_block_in": timing.ONE_BLOCK_IN}
    assert document["env"]["numba_cuda"][0].isdigit() and document["env"]["nvjitlink"][0].isdigit()


def test_a_measured_record_has_raw_samples_and_no_counters(family, gpu):
    made = make(family, gpu)
    assert made.failures == []
    for run in made.runs:
        assert run["samples_ns"] == [1_000_000] * measuring.SAMPLES
        assert run["clocks_mhz"] == {"sm": None, "memory": None} and run["temperature_c"] is None
        assert "counters" not in run and "time_ns" not in run
    document = recording.document("toy", gpu, made)
    schema.validate(document, "nvidia-toy", "toy")
    assert document["kind"] == "measured" and "model" not in document
    assert document["env"]["gpu"] == "NVIDIA Toy" and document["env"]["cuda"] == "13.0" and document["env"]["driver"] is None
    assert document["method"]["l2"] == "flushed" and document["method"]["warm_ups"] == measuring.WARM_UPS


@pytest.mark.parametrize("lost", ["CUDA_ERROR_ILLEGAL_ADDRESS"])
def test_steps_after_a_lost_device_are_not_recorded(family, gpu, replace_run, lost):
    def run(buffers, stream):
        gpu.lost = RuntimeError(lost)
        raise gpu.lost

    replace_run("fast", run)
    made = make(family, gpu)
    assert [step for step, _ in made.failures] == ["toy/fast", "toy/wide"]
    assert made.failures[1][1].what == "not run"
