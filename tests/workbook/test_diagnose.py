"""How a set of cells is put into words."""

from __future__ import annotations

import numpy as np
import pytest

from workbook.diagnose import Output, diagnose, region


def cells(shape, *where):
    mask = np.zeros(shape, dtype=bool)
    for index in where:
        mask[index] = True
    return mask


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (cells((8, 8), np.s_[4:6]), "rows 4..5"),
        (cells((8, 8), np.s_[:, 7]), "column 7"),
        (cells((8, 8), np.s_[2:4, 0:3]), "rows 2..3, columns 0..2"),
        (cells((8, 8), np.s_[1::2]), "rows 1..7 in steps of 2"),
        (cells((8, 8), np.s_[0], np.s_[3], np.s_[4], np.s_[6]), "rows 0, 3, 4 … 6 (4 of them)"),
        (cells((8, 8), np.s_[1, 2], np.s_[3, 4]), "within rows 1..3 in steps of 2, columns 2..4 in steps of 2"),
        (cells((8, 8), np.s_[::2, ::2], np.s_[1::2, 1::2]), "cells all over the array"),
        (cells((8, 8), np.s_[:]), "all of it"),
        (cells((8,), np.s_[5:]), "elements 5..7"),
        (cells((2, 3, 4), np.s_[1, :, 2:]), "axis 0 1, axis 2 2..3"),
    ],
)
def test_region_names_rows_and_columns(mask, words):
    assert region(mask) == words


def said(got, expected, unwritten=None):
    """The lines about an output that should be exact, and whether they name a cause."""
    got, expected = np.asarray(got, np.float32), np.asarray(expected, np.float64)
    output = Output("out", got, expected, 0.0, np.zeros(got.shape, bool) if unwritten is None else unwritten)
    lines, recognised = diagnose(output, ())
    return "\n".join(lines), recognised


def test_only_the_cells_of_block_0_are_told_as_such():
    unwritten = np.arange(100) >= 32
    assert "as if block 0 were the only one" in said(np.zeros(100), np.arange(100) + 1, unwritten)[0]
    unwritten = ~np.outer(np.arange(40) < 16, np.arange(50) < 32)
    assert "the first 16 x 32 are there, as if block 0" in said(np.zeros((40, 50)), np.ones((40, 50)), unwritten)[0]


def test_a_last_partial_tile_is_told_as_such():
    assert "the last, partial tile is missing" in said(np.zeros(37), np.arange(37) + 1, np.arange(37) >= 32)[0]


@pytest.mark.parametrize(("shape", "written"), [((97,), (96,)), ((331,), (320,)), ((461,), (384,)), ((257, 388), (256, 384)),
                                                ((100_003,), (100_000,)), ((40, 41), (40, 40))])  # fmt: skip
def test_a_last_partial_tile_may_follow_any_number_of_whole_ones(shape, written):
    unwritten = np.ones(shape, bool)
    unwritten[tuple(map(slice, written))] = False
    assert "the last, partial tile is missing" in said(np.zeros(shape), np.ones(shape), unwritten)[0]


@pytest.mark.parametrize("written", [90, 95, 64, 48, 33])
def test_more_or_less_than_a_tile_is_no_partial_one(written):
    assert "partial" not in said(np.zeros(161), np.ones(161), np.arange(161) >= written)[0]


def test_cells_missing_in_the_middle_are_neither():
    text = said(np.zeros(100), np.arange(100) + 1, np.arange(100) // 32 == 1)[0]
    assert "block 0" not in text and "partial" not in text


SHIFTED = [(1, "1 element after it"), (-1, "1 element before it"), (8, "8 elements after it")]


@pytest.mark.parametrize(("shift", "words"), SHIFTED)
def test_a_shifted_result_is_told_with_its_distance(shift, words):
    text, recognised = said(np.roll(np.arange(50) + 5, -shift), np.arange(50) + 5)
    assert text.endswith(f"each cell holds what belongs {words}") and recognised


def test_a_shift_along_columns_is_told_in_columns():
    expected = np.arange(35.0).reshape(5, 7) ** 2
    assert "1 column after it" in said(np.roll(expected, -1, axis=1), expected)[0]


def test_a_constant_result_is_no_shifted_one():
    assert "belongs" not in said([7, 7, 7, 7], [1, 1, 1, 2])[0]


def test_nan_that_no_input_explains_is_memory_that_nobody_wrote():
    text, recognised = said([1, np.nan, np.nan], [1, 2, 3])
    assert "2 of them are NaN" in text and recognised


def whole(got, expected):
    got, expected = np.asarray(got, np.int64), np.asarray(expected, np.int64)
    return "\n".join(diagnose(Output("out", got, expected, 0.0, np.zeros(got.shape, bool)), ())[0])


def test_whole_numbers_that_lost_their_upper_bits_are_told_as_such():
    right = np.array([3, 2**31 + 5, 2**34 - 7])
    assert "off by multiples of 2**32" in whole(right.astype(np.int32), right)
    assert "off by multiples of 2**16" in whole((right % 2**20).astype(np.int16), right % 2**20)
    assert "multiples" not in whole(right + 1, right)


def test_whole_numbers_are_told_with_all_their_digits():
    assert "got 81216142410, expected 81216142411" in whole([81216142410], [81216142411])


def test_a_nan_says_nothing_of_fresh_memory_where_one_is_expected():
    early = "fresh memory"
    assert early in said([1, np.nan, 3], [1, 2, 3])[0]
    assert early not in said([1, np.nan, 3], [1, 2, np.nan])[0]
