"""Counters are read as a product: names, lines, and numbers beyond 64 bits."""
from __future__ import annotations

import numpy as np
import pytest

from simt.observe.linear import Readings, weighted
from simt.observe.observer import Observer, Slots
from simt.ptx.statements import SourceLine

HERE, THERE = SourceLine("kernel.py", 3), SourceLine("kernel.py", 4)


class Made(Observer):
    def collect(self, values):
        yield HERE, "loads", values[2]
        yield THERE, "loads", values[2] + values[0] * 3
        yield THERE, "conflicts", values[0] * 5 - values[3]
        yield None, "loads", values[0]
        yield HERE, "nothing", values[3] * 0

    def executed(self, values):
        return {7: values[0] + values[2], 9: sum([values[2], values[2]])}


@pytest.fixture
def readings() -> Readings:
    return Readings((Made(Slots()), Made(Slots())), 5)


def test_readings_are_those_that_observers_would_give(readings):
    values = np.array([10, 99, 4, 1, 99])
    totals, lines, executed = readings.of(values[readings.slots])
    whole = [int(value) for value in values]
    assert totals == {"loads": 2 * (4 + 34 + 10), "conflicts": 2 * (50 - 1), "nothing": 0}
    assert lines == {("kernel.py", 3): {"loads": 8}, ("kernel.py", 4): {"loads": 68, "conflicts": 98}}
    assert executed == {line: 2 * count for line, count in Made(Slots()).executed(whole).items()} == {7: 28, 9: 16}


def test_slots_that_no_reading_uses_are_left_out(readings):
    assert readings.slots.tolist() == [0, 2, 3]


@pytest.mark.parametrize("scale", [1, 1 << 20, 1 << 45, 1 << 60])
def test_sums_are_exact_however_large(readings, scale):
    """Two halves of a class, the first counted three times, the second taken away once: (3 - 1) * scale of each slot."""
    half = np.array([scale, scale - 1, 2], np.int64)
    values = weighted([(half, 3), (half, -1)])
    assert values.tolist() == [2 * scale, 2 * (scale - 1), 4]
    totals, lines, _ = readings.of(values)
    assert totals["loads"] == 2 * (2 * 2 * (scale - 1) + 3 * 2 * scale + 2 * scale)
    assert lines["kernel.py", 4]["conflicts"] == 2 * (5 * 2 * scale - 4)


def test_nothing_observed_is_nothing_read():
    assert Readings((), 4).of(np.array([], np.int64)) == ({}, {}, {})
