"""16-byte loads and stores: what they compile to, what they move, what they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda, float32, types
from numba.core.errors import TypingError

from kernels.intrinsics import load4, rows_aligned, store4

CAPABILITIES = [(7, 5), (8, 0), (8, 6), (9, 0)]
PTX_TYPES = {"float32": "f32", "int32": "u32", "uint32": "u32"}


def through_shared(source, target):
    """Each thread moves four elements to shared memory and another thread's four on from there."""
    tile = cuda.shared.array((4, 32), float32, alignment=16)
    thread = cuda.threadIdx.x
    row, col = thread // 8, thread % 8 * 4
    store4(tile, (row, col), load4(source, (row, col)))
    cuda.syncthreads()
    store4(target, (row, col), load4(tile, (3 - row, col)))


def reversed_fours(source, target):
    """Each thread turns round its four elements of a 1-D array."""
    first = cuda.threadIdx.x * 4
    x, y, z, w = load4(source, first)
    store4(target, first, (w, z, y, x))


def load_at_zero(array, target):
    target[0] = load4(array, 0)[0]


def load_at_pair(array, target):
    target[0] = load4(array, (0, 0))[0]


def store_doubles(array):
    store4(array, 0, (1.0, 2.0, 3.0, 4.0))


def store_three(array):
    store4(array, 0, (float32(1), float32(2), float32(3)))


def ptx_of(function, *arguments, cc=(9, 0)) -> str:
    return cuda.compile_ptx(function, arguments, cc=cc)[0]


@pytest.mark.parametrize("cc", CAPABILITIES)
def test_they_are_one_vector_instruction_in_global_and_shared_memory(cc):
    ptx = ptx_of(through_shared, types.float32[:, ::1], types.float32[:, ::1], cc=cc)
    memory = re.findall(r"\b(?:ld|st)\.(?:global|shared)\S*", ptx)
    assert memory == ["ld.global.v4.f32", "st.shared.v4.f32", "ld.shared.v4.f32", "st.global.v4.f32"]
    assert not re.search(r"\.local\b|\.f64\b", ptx)


@pytest.mark.parametrize(("dtype", "ptx_type"), PTX_TYPES.items())
def test_they_move_elements_of_four_bytes(dtype, ptx_type):
    array = types.Array(getattr(types, dtype), 1, "C")
    ptx = ptx_of(reversed_fours, array, array)
    assert f"ld.global.v4.{ptx_type}" in ptx
    assert f"st.global.v4.{ptx_type}" in ptx


def test_they_move_four_neighbours_of_a_row(rng):
    source = rng.standard_normal((4, 32), dtype=np.float32)
    target = cuda.to_device(np.full((4, 32), np.nan, dtype=np.float32))
    cuda.jit(through_shared)[1, 32](cuda.to_device(source), target)
    np.testing.assert_array_equal(target.copy_to_host(), source[::-1])


@pytest.mark.parametrize("dtype", PTX_TYPES)
def test_they_keep_the_order_of_the_four(dtype):
    source = np.arange(32, dtype=dtype)
    target = cuda.to_device(np.zeros(32, dtype=dtype))
    cuda.jit(reversed_fours)[1, 8](cuda.to_device(source), target)
    np.testing.assert_array_equal(target.copy_to_host(), source.reshape(8, 4)[:, ::-1].ravel())


def test_they_leave_other_elements_alone():
    target = cuda.to_device(np.full(32, -1, dtype=np.int32))
    cuda.jit(reversed_fours)[1, 3](cuda.to_device(np.arange(32, dtype=np.int32)), target)
    np.testing.assert_array_equal(target.copy_to_host()[12:], -1)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (load_at_zero, (types.float64[::1], types.float64[::1]), "the array holds float64; 16-byte accesses here move"),
        (load_at_zero, (types.float16[::1], types.float16[::1]), "the array holds float16; 16-byte accesses here move"),
        (load_at_zero, (types.float32[:, ::1], types.float32[::1]), "a 2-D array needs 2 integer indices"),
        (load_at_pair, (types.float32[::1], types.float32[::1]), "a 1-D array needs 1 integer indices"),
        (load_at_zero, (types.float32[::], types.float32[::1]), "the array must be C-contiguous"),
        (load_at_zero, (types.float32, types.float32[::1]), "the first argument must be an array, not float32"),
        (store_doubles, (types.float32[::1],), "values must be four float32, not UniTuple"),
        (store_three, (types.float32[::1],), "values must be four float32, not UniTuple"),
        (store_three, (types.Array(types.float32, 1, "C", readonly=True),), "the array is read-only"),
    ],
)
def test_what_they_cannot_move_is_refused_while_compiling(function, arguments, message):
    with pytest.raises(TypingError, match=message):
        ptx_of(function, *arguments)


def test_rows_are_aligned_when_they_are_multiples_of_four_from_an_aligned_start():
    flat = cuda.device_array(1024, np.float32)
    whole, ragged = flat[:128].reshape(4, 32), flat[:132].reshape(4, 33)
    shifted, moved = flat[1:129].reshape(4, 32), flat[4:132].reshape(4, 32)
    assert rows_aligned(whole)
    assert rows_aligned(whole, moved)
    assert not rows_aligned(ragged)
    assert not rows_aligned(whole, shifted)
