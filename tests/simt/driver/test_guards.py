"""Explicit signatures are held to, and an error under debug=True says where it happened.

PYTEST_DONT_REWRITE: a kernel of this file asserts.
"""
from __future__ import annotations

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda, float32, int32


@pytest.fixture(scope="module")
def declared():
    """declared[grid, block](a, n): with one explicit signature, a strided float32 vector and an int32."""

    @cuda.jit("void(float32[:], int32)")
    def declared(a, n):
        i = cuda.grid(1)
        if i < n:
            a[i] += 1

    return declared


@pytest.mark.parametrize("array, given", [
    (np.array([1.0, 2.0, 3.0]), r"array\(float64, 1d, C\)"), (np.zeros(3, np.int32), r"array\(int32, 1d, C\)"),
    (np.zeros((3, 3), np.float32), r"array\(float32, 2d, C\)"), (np.float32(3), "float32"), (None, "none")],
    ids=["dtype", "same width", "axes", "number", "None"])
def test_an_array_that_is_not_the_declared_one_is_a_type_error_and_not_read_as_one(declared, array, given):
    before = np.copy(array)
    with pytest.raises(TypeError, match=rf"kernel declared: argument 0: {given}.*array\(float32, 1d, A\)"):
        declared[1, 32](array, 3)
    assert array is None or np.array_equal(before, array)


@pytest.mark.parametrize("arguments", [(), (np.zeros(3, np.float32),), (np.zeros(3, np.float32), 3, 4)])
def test_a_wrong_number_of_arguments_is_a_type_error(declared, arguments):
    with pytest.raises(TypeError, match=f"declared with 2 arguments, {len(arguments)} "):
        declared[1, 32](*arguments)


def test_what_the_declared_type_can_read_is_accepted(declared):
    host = np.zeros(8, np.float32)
    declared[1, 32](host, np.int32(8))
    array = cuda.to_device(host)
    declared[1, 32](array[::2], 4)
    declared[1, 32](array[1:], True)
    assert host.tolist() == [1] * 8
    assert array.copy_to_host().tolist() == [2, 2, 2, 1, 2, 1, 2, 1]


def test_integers_of_the_other_sign_are_accepted():
    @cuda.jit("void(int32[:])")
    def negate(a):
        a[0] = -a[0]

    array = np.array([7], np.uint32)
    negate[1, 1](array)
    assert array.tolist() == [2**32 - 7]


def test_a_declared_layout_is_part_of_the_type():
    @cuda.jit((float32[:, ::1], int32))
    def rows(a, n):
        a[cuda.threadIdx.x, 0] = n

    square = np.zeros((4, 4), np.float32)
    rows[1, 4](square, 3)
    assert square[:, 0].tolist() == [3] * 4
    with pytest.raises(TypeError, match="array\\(float32, 2d, F\\) does not match"):
        rows[1, 4](np.asfortranarray(square), 3)


def test_several_signatures_choose_and_numba_says_when_none_fits():
    @cuda.jit(["void(float32[::1])", "void(int32[::1])"])
    def one(a):
        a[0] = 7

    for dtype in (np.float32, np.int32):
        array = np.zeros(2, dtype)
        one[1, 1](array)
        assert array.tolist() == [7, 0]
    with pytest.raises(TypeError, match="No matching definition for argument type"):
        one[1, 1](np.zeros(2, np.complex64))


@pytest.fixture(scope="module")
def checked():
    """checked[grid, block](a, limit): asserts on one line, divides on the next."""

    @cuda.jit(debug=True, opt=False)
    def checked(a, limit):
        i = cuda.grid(1)
        assert i < limit, "beyond the limit"
        a[i] = 1 / a[i]

    return checked


def test_an_assert_under_debug_names_line_block_and_thread_by_axis(checked):
    a = cuda.to_device(np.ones(64, np.float32))
    with pytest.raises(AssertionError, match="beyond the limit") as failed:
        checked[2, 32](a, 40)
    note, = failed.value.__notes__
    for part in ("kernel checked", "test_guards.py:", 'assert i < limit, "beyond', "block (1, 0, 0), thread (8, 0, 0)"):
        assert part in note
    checked[1, 32](a, 40)


def test_a_division_by_zero_under_debug_names_line_block_and_thread_and_the_next_launch_works(checked):
    host = np.ones((4, 8), np.float32)
    host[2, 5] = 0
    a = cuda.to_device(host.ravel())
    with pytest.raises(ZeroDivisionError, match=r"In function '.*checked', file .*test_guards.py, line \d+") as failed:
        checked[1, (8, 4)](a[20:], 100)
    note, = failed.value.__notes__
    assert "a[i] = 1 / a[i]" in note and "block (0, 0, 0), thread (1, 0, 0)" in note
    checked[1, 16](a, 40)
    assert a.copy_to_host()[:16].tolist() == [1] * 16


def test_a_fault_under_debug_keeps_its_own_lesson(checked):
    with pytest.raises(CUDAError, match="ILLEGAL_ADDRESS") as failed:
        checked[1, 32](cuda.to_device(np.ones(31, np.float32)), 40)
    assert "a[31], but a has shape (31,)" in failed.value.__notes__[0]
