"""Pairs meet by shuffles: one for the value, one for its index.

Computes:   index of the largest x, the lowest among equals, the first NaN before all; float32, 1 <= n < 2**31
Launch:     grid ceil(n/8192), block 256, 64 B shared; then one block of 256 over the blocks' pairs
Cost:       n - 1 comparisons; asks for 4 (n + b + min(b, 256)) B of loads, 8b + 8 B of stores; b = ceil(n/8192)
Changed:    from shared_tree: a tree over the lanes of each warp, then over the warps' pairs in the first warp
Why faster: one barrier per block instead of 9, and two shared cells per warp instead of two per thread
Source:     Justin Luitjens, Faster Parallel Reductions on Kepler, NVIDIA Technical Blog, Block Reduce; with pairs, ours
"""

from __future__ import annotations

from numba import cuda, float32, int32

from kernels.case import Arrays, Case, Claim, Cost, Layout
from kernels.reduction.argmax import s10_shared_tree as tree
from kernels.reduction.argmax.s10_shared_tree import (
    NOBODY,
    THREADS,
    WORST,
    beats,
    chunk_best,
    pairs_best,
)

WARP = 32
WARPS = THREADS // WARP
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_best(value, index):
    """Lane 0 gets the best pair of the warp, all of which must call this."""
    # gap: the better pair of two lanes goes on, on five levels | 5 lines
    for distance in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(ALL_LANES, value, distance)
        other_index = cuda.shfl_down_sync(ALL_LANES, index, distance)
        if beats(other, other_index, value, index):
            value, index = other, other_index
    # end gap
    return value, index


@cuda.jit(device=True)
def block_best(warp_values, warp_indices, value, index):
    """Thread 0 gets the best pair of the block; the arrays are one cell of shared memory per warp."""
    thread = cuda.threadIdx.x
    # gap: the best pair of every warp, then the best of those | 9 lines
    value, index = warp_best(value, index)
    if thread % WARP == 0:
        warp_values[thread // WARP], warp_indices[thread // WARP] = value, index
    cuda.syncthreads()  # the pairs of all warps are there
    if thread < WARP:
        value, index = WORST, NOBODY
        if thread < WARPS:
            value, index = warp_values[thread], warp_indices[thread]
        value, index = warp_best(value, index)
    # end gap
    return value, index


@cuda.jit
def kernel(x, values, indices):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    value, index = chunk_best(x)
    value, index = block_best(warp_values, warp_indices, value, index)
    if cuda.threadIdx.x == 0:
        values[cuda.blockIdx.x], indices[cuda.blockIdx.x] = value, index


@cuda.jit
def last_kernel(values, indices, result):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    value, index = pairs_best(values, indices)
    value, index = block_best(warp_values, warp_indices, value, index)
    if cuda.threadIdx.x == 0:
        result[0] = index


def scratch(case: Case, inputs: Arrays) -> Layout:
    return tree.scratch(case, inputs)


def run(buffers, stream):
    x, values, indices = buffers["x"], buffers["values"], buffers["indices"]
    kernel[values.size, THREADS, stream](x, values, indices)
    last_kernel[1, THREADS, stream](values, indices, buffers["index"])


def cost(case: Case) -> Cost:
    return tree.cost(case)


CASE = Case(n=65536)  # 8 blocks, and one over their pairs
CLAIMS = (
    # 8 warps, 9 barriers; then 1
    Claim("simt__barriers", before=9 * 8 * 9, after=9 * 8, case=CASE),
)
