"""Types, index arithmetic, overflow: 64-bit indices hold, declared types are held to, promotions can be counted."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, int32, int64

import simt
from simt.observe import names


@pytest.mark.parametrize("declared, array", [
    ("void(float32[:])", np.array([1.0, 2.0, 3.0])), ("void(int64[:])", np.array([1, 2, 3], np.int32))],
    ids=["float64 for float32", "int32 for int64"])
def test_an_array_of_another_width_than_declared_is_a_type_error_and_stays_as_it_is(declared, array):
    """numba#7478, numba PR#6052, cupy/cupy#3186: values read as zeros"""
    @cuda.jit(declared)
    def fill(a):
        a[cuda.grid(1)] = 7

    before = array.copy()
    with pytest.raises(TypeError, match=rf"argument 0: array\({array.dtype}, 1d, C\) does not match the declared array"):
        fill[1, 3](array)
    assert np.array_equal(array, before)


def test_a_double_among_floats_shows_in_the_counters():
    """NVIDIA/raft PR#3133: `x if k == 0 else 0.0` promotes the sum"""
    def total(a, out, zero):
        result = zero
        for k in range(a.size):
            result += a[k] if k % 2 == 0 else zero
        out[0] = result

    a, out = np.ones(64, np.float32), np.zeros(1, np.float32)
    doubles = {}
    for zero in (np.float32(0), 0.0):
        with simt.profile() as profile:
            cuda.jit(total)[1, 1](a, out, zero)
        doubles[type(zero)] = profile.launches[0].counters[names.FLOPS_FP64]
        assert out[0] == 32
    assert doubles == {np.float32: 0, float: 64}


def test_grid_indices_beyond_2_to_the_31_do_not_wrap():
    """numba#9229, numba PR#9235: the last of 22 million blocks, which alone runs with its neighbours"""
    @cuda.jit
    def last(out):
        i = cuda.grid(1)
        if i == cuda.gridsize(1) - 1:
            out[0] = i
            out[1] = cuda.gridsize(1)

    out = cuda.to_device(np.zeros(2, np.int64))
    with simt.profile(sample=30_000_000, execute="sampled"):
        last[22_000_000, 256](out)
    assert out.copy_to_host().tolist() == [22_000_000 * 256 - 1, 22_000_000 * 256]


@pytest.mark.parametrize("index", [3_288_334_336, 2**31, -(2**31), 2**40])
def test_a_large_index_is_told_whole(fault, index):
    """triton-lang/triton#832, pytorch PR#24818: 32-bit offsets"""
    @cuda.jit
    def read(a, at):
        a[0] = a[at]

    with fault("ILLEGAL_ADDRESS", f"a[{index if index > 0 else index + 8}], but a has shape (8,)"):
        read[1, 1](cuda.to_device(np.zeros(8, np.float32)), index)


def test_a_product_of_int32_is_64_bits_wide_until_it_is_cast_back():
    """linkedin/Liger-Kernel#1483: row 2**23 times 256 columns"""
    @cuda.jit
    def offsets(row, columns, out):
        out[0] = row * columns
        out[1] = int32(row * columns)

    out = np.zeros(2, np.int64)
    offsets[1, 1](np.int32(2**23), np.int32(256), out)
    assert out.tolist() == [2**31, -(2**31)]


def test_thread_indices_are_signed_in_numba():
    """nbcuda#109, nbcuda PR#110, numba PR#6112: in CUDA C++ `threadIdx.x - 1 < 0` is never true"""
    @cuda.jit
    def before_me(out):
        i = cuda.threadIdx.x
        out[i] = i - 1

    out = np.zeros(3, np.int64)
    before_me[1, 3](out)
    assert out.tolist() == [-1, 0, 1]


def test_a_range_counts_in_the_width_of_its_bound():
    """numba/nvidia-cuda-tutorial#2: 64-bit counters cost registers; an int32 bound keeps them at 32"""
    def total(a, out, n):
        result = int32(0)
        for k in range(n):
            result = int32(result ^ int32(k)) >> 1
        out[0] = result

    wide = {}
    for bound in (int32, int64):
        ptx, _ = cuda.compile_ptx(total, (int32[::1], int32[::1], bound), cc=(9, 0))
        wide[bound] = sum(line.strip().startswith(("add.s64", "setp")) and "64" in line for line in ptx.splitlines())
    assert wide[int32] == 0 < wide[int64]


def test_float32_stays_float32_through_constants_of_its_type():
    """numba#7478 (discussion): a Python float is a double"""
    ptx, _ = cuda.compile_ptx(lambda a: scale(a), (float32[::1],), cc=(9, 0))
    assert "f64" not in ptx


@cuda.jit(device=True)
def scale(a):
    a[0] = a[0] * float32(0.5)


def test_a_size_that_wrapped_in_int32_on_the_host_is_refused_before_the_launch():
    """karpathy/llm.c PR#155: B * T * V = 64 * 1024 * 50257 as int is negative"""
    @cuda.jit
    def fill(a):
        a[cuda.grid(1)] = 1

    with np.errstate(over="ignore"):
        cells = np.int32(64) * np.int32(1024) * np.int32(50257)
    assert cells == 64 * 1024 * 50257 - 2**32 < 0
    a = cuda.to_device(np.zeros(256, np.float32))
    with pytest.raises(OverflowError, match="negative"):
        cuda.device_array((cells,), np.float32)
    with pytest.raises(Exception, match="INVALID_VALUE") as failed:
        cuda.device_array((2, int(cells)), np.float32)
    assert "negative, as after a product of int32 that wrapped" in failed.value.__notes__[0]
    with pytest.raises(ValueError, match=f"negative task count: {cells}"):
        fill.forall(cells)(a)
    with pytest.raises(ValueError, match=rf"grid .* \(got \({cells // 256}, 1, 1\)\)"):
        fill[int(cells) // 256, 256](a)
    assert not a.copy_to_host().any()
