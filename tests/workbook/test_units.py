"""Figures for people keep three significant digits."""

from __future__ import annotations

import pytest

from workbook import units


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (7, "7.00 ns"),
        (999.9, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_960, "1.00 ms"),
        (41_180_800, "41.2 ms"),
        (2e9, "2.00 s"),
    ],
)
def test_durations_change_unit_where_the_digits_would_overflow(time_ns, text):
    assert units.duration(time_ns) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (999, "999"), (12_345, "12.3 k"), (8.6e9, "8.60 G"), (0.5, "0.500")])
def test_counts_use_prefixes_from_a_thousand_on(value, text):
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.98, "0.980"), (0.9996, "1.00"), (9.996, "10.0"), (99.96, "100"), (12_345.6, "12346")]
)
def test_digits_round_before_they_choose_how_many(value, text):
    assert units.digits(value) == text
