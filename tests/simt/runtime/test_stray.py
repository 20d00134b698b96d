"""From an address outside an array to an index: every layout, both ends, and the other reading of the same address."""
from __future__ import annotations

import types

import numpy as np
import pytest

from simt.runtime.arguments import arrays
from simt.runtime.stray import describe

CUBE = np.zeros((3, 4, 5))
# array, index that a kernel uses, lines of the lesson
CASES = {
    "one past the end": (np.zeros(100, np.float32), (100,), (
        "a[100], but a has shape (100,): the last index is 99", "4 bytes past the end of the 400 bytes of a")),
    "below the start": (np.zeros(100, np.float32), (-2,), (
        "a[-2], but a has shape (100,): index -2 is before its start", "8 bytes before the start of the 400 bytes of a")),
    "an empty array": (np.zeros(0), (0,), (
        "a[0], but a has shape (0,): it has no elements", "8 bytes past the end of the 0 bytes of a")),
    "every other element": (np.zeros(10)[::2], (5,), (
        "a[5], but a has shape (5,): the last index is 4", "16 bytes past the end of the 72 bytes of a")),
    "a row too far": (CUBE[0], (4, 2), (
        "a[4, 2], but a has shape (4, 5): the last index of axis 0 is 3", "24 bytes past the end of the 160 bytes of a",
        "a[3, 7] would lie there too, if it is axis 1 that is out of range")),
    "the row before the first": (CUBE[0], (-1, 3), (
        "a[-1, 3], but a has shape (4, 5): index -1 is before its start", "16 bytes before the start of the 160 bytes of a",
        "a[0, -2] would lie there too, if it is axis 1 that is out of range")),
    "rows too far": (CUBE[0], (7, 0), (
        "a[7, 0], but a has shape (4, 5): the last index of axis 0 is 3", "128 bytes past the end of the 160 bytes of a")),
    "Fortran order": (np.asfortranarray(CUBE[0]), (1, 5), (
        "a[1, 5], but a has shape (4, 5): the last index of axis 1 is 4", "16 bytes past the end of the 160 bytes of a",
        "a[5, 4] would lie there too, if it is axis 0 that is out of range")),
    "a window of a larger array": (CUBE[0][1:3, 1:3], (2, 1), (
        "a[2, 1], but a has shape (2, 2): the last index of axis 0 is 1", "40 bytes past the end of the 56 bytes of a",
        "a[1, 6] would lie there too, if it is axis 1 that is out of range")),
    "three axes": (CUBE, (3, 1, 0), (
        "a[3, 1, 0], but a has shape (3, 4, 5): the last index of axis 0 is 2", "48 bytes past the end of the 480 bytes of a",
        "a[2, 5, 0] would lie there too, if it is axis 1 that is out of range")),
    "one row": (np.zeros((1, 5), np.int16), (1, 0), (
        "a[1, 0], but a has shape (1, 5): the last index of axis 0 is 0", "2 bytes past the end of the 10 bytes of a",
        "a[0, 5] would lie there too, if it is axis 1 that is out of range")),
    "records": (np.zeros(3, [("x", "f4"), ("y", "f8")]), (3,), (
        "a[3], but a has shape (3,): the last index is 2", "12 bytes past the end of the 36 bytes of a")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stray_index_is_told_with_shape_and_distance(name):
    host, index, expected = CASES[name]
    found, = arrays([0, 0, host.size, host.itemsize, host.ctypes.data, *host.shape, *host.strides], ("a",))
    address = host.ctypes.data + sum(i * s for i, s in zip(index, host.strides, strict=True))
    assert tuple(describe(found, types.SimpleNamespace(bytes=host.itemsize), address)) == expected
