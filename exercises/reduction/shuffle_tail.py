# Exercise reduction/shuffle_tail: complete this file, then run  ./ladder exercise check reduction/shuffle_tail
"""The last 32 values never leave the registers of one warp: they are added by shuffles.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0
Launch:     grid ceil(n/512), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Why faster: 4 barriers per block instead of 9; a shuffle orders the lanes it joins, without a barrier of the block
Source:     Justin Luitjens, Faster Parallel Reductions on Kepler, NVIDIA Technical Blog, Shuffle Warp Reduce; Harris's
            own next step, a warp without any barrier, is wrong on hardware since Volta: traps/warp_synchronous.py
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Arrays, Case, Layout
from kernels.reduction import levels

THREADS = 256
PER_BLOCK = 2 * THREADS
WARP = 32
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    """Lane 0 gets the sum over the warp, all of which must call this; what other lanes get is of no use."""
    number = type(value)  # keeps int32: Numba makes int64 of int32 + int32, and that is two shuffles
    # TODO: add what the lane 16 further on has, then 8, 4, 2 and 1 (2 lines)
    pass
    return value


@cuda.jit
def kernel(x, partials):
    tile = cuda.shared.array(THREADS, x.dtype)
    thread = uint32(cuda.threadIdx.x)
    number = x.dtype.type  # a plain 0 would make float64 of float32
    i = cuda.blockIdx.x * PER_BLOCK + thread
    # Zeros past the end add nothing, so the tree needs no guard.
    first = x[i] if i < x.size else number(0)
    second = x[i + THREADS] if i + THREADS < x.size else number(0)
    tile[thread] = first + second
    cuda.syncthreads()  # the tile is complete
    stride = THREADS // 2
    # TODO: stop the tree at 32 values, which one warp adds by shuffles (9 lines)
    while stride > 0:
        if thread < stride:
            tile[thread] += tile[thread + stride]
        cuda.syncthreads()  # the sums of this level are complete
        stride //= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = tile[0]


def scratch(case: Case, inputs: Arrays) -> Layout:
    return levels.scratch(case, inputs, PER_BLOCK)


def run(buffers, stream):
    levels.run(kernel, PER_BLOCK, THREADS, buffers, stream)
