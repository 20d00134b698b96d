"""The picture of a climb: a PNG whose labels do not overlap."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from workbook import climb as climbing
from workbook import picture, results


@pytest.fixture
def climbed(toy, target, seed):
    return climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)


def test_a_climb_becomes_a_png(climbed, tmp_path):
    picture.save(tmp_path / "toy.png", climbed, results.rows(climbed))
    assert (tmp_path / "toy.png").read_bytes().startswith(b"\x89PNG")


def test_ladders_without_a_first_time_or_a_roof_still_have_a_picture(climbed, target, tmp_path, monkeypatch):
    monkeypatch.setattr(target, "roof_gflops", lambda *arguments: None, raising=False)
    rows = [dataclasses.replace(row, speedup_first=None, percent_of_roofline=None) for row in results.rows(climbed)]
    picture.save(tmp_path / "toy.png", climbed, rows)
    assert (tmp_path / "toy.png").stat().st_size > 0


def test_spread_labels_keep_their_order_their_distance_and_the_ceiling(seed):
    wanted = sorted(np.random.default_rng(seed).random(12))
    places = picture.spread(wanted, 0.06, ceiling=0.9)
    assert np.diff(places).min() >= 0.06 - 1e-9
    assert places[-1] <= 0.9


def test_labels_with_room_stay_where_they_are():
    assert picture.spread([0.1, 0.5, 0.9], 0.06, ceiling=0.95) == [0.1, 0.5, 0.9]


def test_labels_that_touch_move_apart_evenly():
    assert picture.spread([0.5, 0.5, 0.9], 0.1, ceiling=1) == pytest.approx([0.45, 0.55, 0.9])


def test_labels_at_the_ceiling_push_the_others_down():
    assert picture.spread([0.7, 0.8], 0.1, ceiling=0.75) == pytest.approx([0.65, 0.75])
