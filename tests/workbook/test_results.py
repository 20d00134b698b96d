"""The figures that a climb derives, and the JSON document that carries them."""

from __future__ import annotations

import json

import pytest

from workbook import climb as climbing
from workbook import results

KEYS_OF_A_STEP = [
    "step",
    "verified",
    "cases_verified",
    "time_ns",
    "speedup_first",
    "speedup_previous",
    "gflops",
    "percent_of_roofline",
    "bound_by",
    "sectors_per_request_ld",
    "sectors_per_request_st",
    "bank_conflicts",
    "registers",
    "theoretical_occupancy_percent",
    "model_error_percent",
    "sampled",
    "counters",
]


@pytest.fixture
def climbed(toy, target, seed):
    return climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)


def test_speedups_compare_with_the_first_and_the_previous_step(climbed):
    rows = results.rows(climbed)
    assert [row.speedup_first for row in rows] == [1, 16, 12.8]
    assert [row.speedup_previous for row in rows] == [None, 16, 0.8]


def test_gflops_count_the_work_of_the_problem_and_the_roof_its_minimum_traffic(climbed):
    fast = results.rows(climbed)[1]
    assert fast.gflops == 2 * 64**3 / 4000
    roof = min(60_000, 3_000 * 2 * 64**3 / (3 * 64 * 64 * 4))
    assert fast.percent_of_roofline == pytest.approx(100 * fast.gflops / roof)


def test_the_roof_is_that_of_the_ladders_arithmetic_or_of_floats_as_wide_as_its_outputs(climbed, monkeypatch):
    asked = []
    monkeypatch.setattr(climbed.target, "roof_gflops", lambda flops, minimum, dtype: asked.append(dtype), raising=False)
    for peak in (None, "int8"):
        monkeypatch.setattr(climbed.ladder, "peak", peak)
        results.roof_gflops(climbed)
    assert asked == ["fp32", "int8"]


def test_counter_figures_add_up_over_launches_and_describe_the_longest(toy, target, seed, replace_run):
    def two_launches(buffers, stream):
        buffers["c"][...] = buffers["a"] @ buffers["b"]
        stream.append({"time_ns": 1000.0, "sectors": 400, "registers": 16})
        stream.append({"time_ns": 3000.0, "sectors": 1600, "registers": 64})

    replace_run("fast", two_launches)
    climbed = climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)
    row = results.rows(climbed)[1]
    assert (row.time_ns, row.registers, row.theoretical_occupancy_percent) == (4000, 64, 50)
    assert (row.sectors_per_request_ld, row.sectors_per_request_st) == (10, 4)
    assert row.bank_conflicts == 8000
    assert row.counters["ptx__inst_executed"] == 2000
    assert row.terms_ns == {"lsu": 4000, "fma": 2000}


def test_the_json_document_has_the_published_keys(climbed, seed):
    document = json.loads(json.dumps(results.as_json(climbed, results.rows(climbed))))
    assert list(document) == ["schema", "family", "device", "kind", "case", "seed", "steps"]
    assert document["schema"] == 1 and document["family"] == "toy" and document["device"] == "h100"
    assert document["kind"] == "modelled" and document["seed"] == seed
    assert document["case"] == {"m": 64, "n": 64, "k": 64}
    for step in document["steps"]:
        assert list(step) == KEYS_OF_A_STEP
        assert step["verified"] is True and step["sampled"] is True and step["model_error_percent"] is None
        assert step["cases_verified"] == [dict(case) for case in climbed.ladder.cases]
    assert document["steps"][0]["step"] == "toy/slow"
    assert document["steps"][0]["time_ns"] == 64000


def test_a_failed_step_keeps_its_keys_and_has_no_figures(toy, target, seed, replace_run):
    replace_run("slow", lambda buffers, stream: None)
    climbed = climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)
    slow, fast, _ = results.as_json(climbed, results.rows(climbed))["steps"]
    assert list(slow) == KEYS_OF_A_STEP
    assert slow["verified"] is False and slow["time_ns"] is None and slow["counters"] == {}
    assert fast["verified"] is True and fast["speedup_first"] is None and fast["time_ns"] == 4000


def test_a_gpu_without_known_facts_has_times_but_no_roofline(toy, target, seed, monkeypatch):
    monkeypatch.setattr(target, "roof_gflops", lambda *arguments: None, raising=False)
    climbed = climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)
    assert [row.percent_of_roofline for row in results.rows(climbed)] == [None] * 3
