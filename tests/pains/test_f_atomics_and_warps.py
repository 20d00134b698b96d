"""Atomics, warp operations, cooperative groups."""
from __future__ import annotations

import math

import numpy as np
import pytest
from llvmlite import ir
from numba import cuda, float32, int32
from numba.cuda.extending import intrinsic

ALL = 0xFFFFFFFF


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float16])
def test_a_narrow_atomic_is_refused_with_the_types_that_work(hinted, dtype):
    """numba PR#6325"""
    @cuda.jit
    def count(a):
        cuda.atomic.add(a, 0, 1)

    with hinted("TypingError", "atomics work on int32, uint32, int64, uint64, float32 and float64"):
        count[1, 32](np.zeros(1, dtype))


def test_atomics_work_on_every_type_that_the_hint_names():
    """numba PR#6325"""
    @cuda.jit
    def count(a, b, c, d, e, f):
        cuda.atomic.add(a, 0, 1)
        cuda.atomic.add(b, 0, 1)
        cuda.atomic.add(c, 0, 1)
        cuda.atomic.add(d, 0, 1)
        cuda.atomic.add(e, 0, 1)
        cuda.atomic.add(f, 0, 1)

    arrays = [np.zeros(1, dtype) for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)]
    count[2, 48](*arrays)
    assert [array[0] for array in arrays] == [96] * 6


def test_a_sum_of_floats_by_atomics_is_within_the_error_of_any_order(seed):
    """nbcuda#384"""
    @cuda.jit
    def add(a, out):
        i = cuda.grid(1)
        if i < a.size:
            cuda.atomic.add(out, 0, a[i])

    a, out = np.random.default_rng(seed).random(16384, np.float32), np.zeros(1, np.float32)
    add[128, 128](a, out)
    exact = math.fsum(a.tolist())
    assert abs(out[0] - exact) <= a.size * 2.0**-24 * exact


def test_an_atomic_returns_the_old_value():
    """numba#5458: what queues and compactions are built on"""
    @cuda.jit
    def take(x, places):
        places[cuda.threadIdx.x] = cuda.atomic.add(x, 0, 1)

    x, places = np.array([10]), np.zeros(64, np.int64)
    take[1, 64](x, places)
    assert x[0] == 74 and sorted(places) == list(range(10, 74))


def test_lane_0_broadcasts_a_value_that_it_alone_set():
    """gpgpu-sim/gpgpu-sim_distribution#230"""
    @cuda.jit
    def broadcast(out):
        value = int32(-1)
        if cuda.laneid == 0:
            value = 77
        out[cuda.threadIdx.x] = cuda.shfl_sync(ALL, value, 0)

    out = np.zeros(32, np.int32)
    broadcast[1, 32](out)
    assert set(out) == {77}


def test_a_mask_of_0_names_the_lanes_that_are_not_in_it(fault):
    """PaddlePaddle/Paddle#10332, PR#8539: a reduction with mask 0"""
    @cuda.jit
    def reduce(a):
        value = a[cuda.threadIdx.x]
        step = 16
        while step > 0:
            value += cuda.shfl_down_sync(0, value, step)
            step //= 2
        a[cuda.threadIdx.x] = value

    with fault("LAUNCH_FAILED", "outside its own mask", "value += cuda.shfl_down_sync(0, value, step)",
               "lanes 0-31 execute it but are not in their own mask 0x00000000"):
        reduce[1, 32](np.zeros(32, np.float32))


def shuffle(mode: str, clamp: int):
    """The shuffle instruction with a segment mask, which numba's functions lack."""
    @intrinsic
    def shuffled(typing_context, value, delta):
        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)] * 2)
            code = ir.InlineAsm(kind, f"shfl.sync.{mode}.b32 $0, $1, $2, {clamp}, -1;", "=r,r,r", side_effect=True)
            return builder.call(code, arguments)

        return int32(int32, int32), generate

    return shuffled


WIDTH = 8
SEGMENTS = (32 - WIDTH) << 8            # the upper bits that lanes of a segment share
IDX, DOWN, UP, XOR = (shuffle(mode, SEGMENTS | end) for mode, end in (("idx", 31), ("down", 31), ("up", 0), ("bfly", 31)))


def test_a_width_below_32_splits_the_warp_into_segments():
    """ROCm/hip#3213, oneapi-src/SYCLomatic-test PR#255: what the CUDA C++ guide says of __shfl_sync with width 8"""
    @cuda.jit
    def read(out, delta):
        lane = int32(cuda.laneid)
        out[0, lane], out[1, lane] = IDX(lane, delta), DOWN(lane, delta)
        out[2, lane], out[3, lane] = UP(lane, delta), XOR(lane, delta)

    out = np.zeros((4, 32), np.int32)
    for delta in range(WIDTH):
        read[1, 32](out, np.int32(delta))
        for lane in range(32):
            first, end = lane // WIDTH * WIDTH, lane // WIDTH * WIDTH + WIDTH
            expected = [first + delta, lane + delta if lane + delta < end else lane,
                        lane - delta if lane - delta >= first else lane, lane ^ delta]
            assert out[:, lane].tolist() == expected, (lane, delta)


def test_the_classic_shuffle_reduction_runs_for_1024_threads_and_1025_are_refused_in_words(fault):
    """numba#8433"""
    @cuda.jit
    def total(a, out):
        partial = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        value = a[i]
        for step in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(ALL, value, step)
        if cuda.laneid == 0:
            partial[i // 32] = value
        cuda.syncthreads()
        if i < 32:
            value = partial[i]
            for step in (16, 8, 4, 2, 1):
                value += cuda.shfl_down_sync(ALL, value, step)
            if i == 0:
                out[0] = value

    a, out = np.arange(1024, dtype=np.float32), np.zeros(1, np.float32)
    total[1, 1024](a, out)
    assert out[0] == a.sum()
    with fault("INVALID_VALUE", "block.x = 1025", "at most 1024 threads"):
        total[1, 1025](a, out)


def test_a_grid_wide_sync_orders_blocks_of_two_axes():
    """numba#8740, numba#8719"""
    @cuda.jit
    def swap(out, seen):
        grid = cuda.cg.this_grid()
        x, y = cuda.grid(2)
        out[x, y] = 10 * x + y
        grid.sync()
        seen[x, y] = out[3 - x, 1 - y]

    out, seen = np.zeros((4, 2), np.int64), np.zeros((4, 2), np.int64)
    swap[(2, 1), (2, 2)](out, seen)
    assert seen.tolist() == [[10 * (3 - x) + 1 - y for y in range(2)] for x in range(4)]


def test_more_blocks_than_fit_at_once_cannot_wait_for_each_other():
    """numba#8740: told by cuda.core, from the occupancy that the device reports"""
    @cuda.jit
    def meet(out):
        cuda.cg.this_grid().sync()
        out[0] = 1

    with pytest.raises(ValueError, match=r"grid size \(100000 \* 1 \* 1\) exceeds the limit \(264\)"):
        meet[100_000, 1024](np.zeros(1))
