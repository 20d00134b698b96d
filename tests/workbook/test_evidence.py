"""A step that does not pay is shown with the counters that say why."""

from __future__ import annotations

import dataclasses

import pytest

from workbook import climb as climbing
from workbook import evidence, results


@pytest.fixture
def rows(toy, target, seed):
    climbed = climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)
    return results.rows(climbed)


def test_a_step_that_pays_needs_no_evidence(rows):
    assert evidence.explain(rows[0], rows[1]) == []


def test_a_slower_step_is_shown_with_what_moved_against_it(rows):
    assert evidence.explain(rows[1], rows[2]) == [
        "toy/wide is slower: 0.800x the speed of toy/fast. What was counted:",
        "bound by lsu as before: 4.00 µs -> 5.00 µs",
        "registers 32 -> 64, theoretical occupancy 100 % -> 50 %",
        "bank conflicts of loads 3.20 k -> 6.40 k (2.00x)",
    ]


def test_a_step_that_moves_the_bottleneck_shows_both(rows):
    moved = dataclasses.replace(rows[2], bound_by="fma", terms_ns={"lsu": 1000.0, "fma": 5000.0})
    line = "was bound by lsu: 4.00 µs -> 1.00 µs; now by fma: 2.00 µs -> 5.00 µs"
    assert evidence.explain(rows[1], moved)[1] == line


def test_the_launches_of_a_step_that_has_several_are_told_apart(rows):
    two = dataclasses.replace(rows[2], launches_ns=(4000.0, 2500.0))
    assert evidence.explain(rows[1], two)[2] == "launches 4.00 µs -> 4.00 µs + 2.50 µs"


def test_a_draw_gains_nothing(rows):
    draw = dataclasses.replace(rows[2], speedup_previous=1.004)
    headline = evidence.explain(rows[1], draw)[0]
    assert headline == "toy/wide gains nothing: 1.00x the speed of toy/fast. What was counted:"


def test_measured_steps_have_no_counters_to_show(rows):
    assert evidence.explain(rows[1], dataclasses.replace(rows[2], counters={})) == []
