"""How a set of cells is put into words."""

from __future__ import annotations

import numpy as np
import pytest

from workbook.diagnose import region


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
