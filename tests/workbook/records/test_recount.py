"""A fresh count that differs is told by step, with the counters that moved and by how much."""

from __future__ import annotations

import copy

import pytest

from simt.observe import names
from workbook.records import recount


@pytest.fixture
def counted(document):
    return copy.deepcopy(document["runs"])


def troubles(document, counted):
    return recount.troubles(document, counted, ["toy"])


def test_equal_counts_are_no_trouble(document, counted):
    assert troubles(document, counted) == []


def test_a_slower_step_is_named_with_the_counter_that_grew_most_first(document, counted):
    counted[1]["counters"][names.INSTRUCTIONS]["value"] = 1100
    counted[1]["counters"][names.GLOBAL_SECTORS_LD]["value"] = 3200
    counted[1]["time_ns"] = 5000
    (trouble,) = troubles(document, counted)
    assert str(trouble).splitlines() == [
        "toy/fast on h100 at m=64 n=64 k=64: SLOWER by 25.0 %, 4.00 µs -> 5.00 µs (4000 -> 5000 ns), bound by lsu -> lsu",
        f"    {names.GLOBAL_SECTORS_LD} (global load sectors): 400 -> 3200, x8.00",
        f"    {names.INSTRUCTIONS} (PTX instructions): 1000 -> 1100, x1.10",
    ]


def test_a_faster_step_is_told_too(document, counted):
    counted[1]["time_ns"] = 2000
    (trouble,) = troubles(document, counted)
    assert trouble.what.startswith("toy/fast on h100 at m=64 n=64 k=64: faster by 100 %, 4.00 µs -> 2.00 µs")


def test_one_count_more_is_found(document, counted):
    counted[2]["counters"][names.INSTRUCTIONS]["value"] += 1
    (trouble,) = troubles(document, counted)
    assert trouble.what.endswith("counters moved, the time did not")


def test_a_nanosecond_of_rounding_is_no_trouble_two_are(document, counted):
    counted[0]["time_ns"] += 1
    assert troubles(document, counted) == []
    counted[0]["time_ns"] += 1
    assert len(troubles(document, counted)) == 1


def test_registers_and_tags_are_compared(document, counted):
    counted[0]["launches"][0]["registers"] = 99
    counted[0]["counters"][names.INSTRUCTIONS]["tag"] = "estimated"
    (trouble,) = troubles(document, counted)
    assert trouble.details[0].endswith("1000 -> 1000, x1.00, exact -> estimated")
    assert trouble.details[1] == "toy: registers 20 -> 99"


def test_a_counter_that_came_or_went_is_named(document, counted):
    counter = counted[0]["counters"].pop(names.INSTRUCTIONS)
    counted[0]["counters"]["simt__new"] = counter
    (trouble,) = troubles(document, counted)
    assert "simt__new: is counted only now" in trouble.details
    assert f"{names.INSTRUCTIONS} (PTX instructions): was counted only then" in trouble.details


def test_a_stale_run_is_told_with_its_cause_even_if_nothing_moved(document, counted):
    document["runs"][0]["fingerprint"] = "0123456789ab"
    (trouble,) = troubles(document, counted)
    assert trouble.what.endswith("stale, though nothing moved")
    assert trouble.details[0].startswith("stale: the code changed: fingerprint 0123456789ab -> ")


def test_steps_that_came_or_cannot_be_counted_are_named(document, counted):
    del document["runs"][0], counted[1]
    assert [trouble.what for trouble in troubles(document, counted)] == [
        "toy/fast on h100 at m=64 n=64 k=64: recorded, but not counted now",
        "toy/slow on h100 at m=64 n=64 k=64: not recorded yet",
    ]


def test_a_measured_record_is_checked_for_staleness_and_for_lacking_steps(measured):
    assert recount.troubles(measured, None, ["toy"]) == []
    measured["env"]["numba"] = "0.1"
    del measured["runs"][2]
    assert [trouble.what for trouble in recount.troubles(measured, None, ["toy"])] == [
        "toy/slow on nvidia-toy at m=64 n=64 k=64: stale",
        "toy/fast on nvidia-toy at m=64 n=64 k=64: stale",
        "toy/wide on nvidia-toy: not recorded yet",
    ]


def test_of_many_counters_the_largest_changes_are_told(document, counted):
    for index in range(30):
        document["runs"][0]["counters"][f"c{index}"] = {"value": 100, "tag": "exact"}
        counted[0]["counters"][f"c{index}"] = {"value": 101 + index, "tag": "exact"}
    (trouble,) = troubles(document, counted)
    assert trouble.details[0] == "c29: 100 -> 130, x1.30"
    assert trouble.details[-1] == f"and {30 - recount.MOST} more counters"
