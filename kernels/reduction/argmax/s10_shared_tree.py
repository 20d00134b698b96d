"""A tree of pairs: each value carries its index, and the better pair of two goes on.

Computes:   index of the largest x, the lowest among equals, the first NaN before all; float32, 1 <= n < 2**31
Launch:     grid ceil(n/8192), block 256, 2 KiB shared; then one block of 256 over the blocks' pairs
Cost:       n - 1 comparisons; asks for 4 (n + b + min(b, 256)) B of loads, 8b + 8 B of stores; b = ceil(n/8192)
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     the tree is that of reduction/sequential; the order of pairs is that of NumPy, argmax
"""

from __future__ import annotations

import math

from numba import cuda, float32, int32

from kernels.case import Arrays, Case, Cost, Layout, ceil_div

THREADS = 256
PER_BLOCK = 32 * THREADS
WORST, NOBODY = float32(-math.inf), int32(2**31 - 1)  # a pair that loses even to another -inf


@cuda.jit(device=True)
def beats(value, index, best, best_index):
    """Whether a pair goes before the best one. A total order, so it does not matter which pairs meet first."""
    if value == best or (math.isnan(value) and math.isnan(best)):
        return index < best_index
    return value > best or math.isnan(value)


@cuda.jit(device=True)
def thread_best(values, first, end):
    """The best pair of this thread's part of values[first:end]: its value and where it stands there."""
    start = first + cuda.threadIdx.x
    if start >= end:
        return WORST, NOBODY
    best, place = values[start], int32(start)
    for i in range(start + THREADS, end, THREADS):
        # Places rise, so among equals the one at hand is the lowest, and nothing goes before a NaN.
        if not (values[i] <= best or math.isnan(best)):
            best, place = values[i], int32(i)
    return best, place


@cuda.jit(device=True)
def chunk_best(x):
    """The best pair of this thread's part of the block's chunk."""
    first = cuda.blockIdx.x * PER_BLOCK
    return thread_best(x, first, min(first + PER_BLOCK, x.size))


@cuda.jit(device=True)
def pairs_best(values, indices):
    """The best of this thread's part of the blocks' pairs, which stand in the order of their indices."""
    value, place = thread_best(values, 0, values.size)
    return value, indices[place] if place < values.size else NOBODY


@cuda.jit(device=True)
def climb_tree(tile_values, tile_indices, value, index):
    """Cell 0 of the tiles gets the block's best pair."""
    thread = cuda.threadIdx.x
    tile_values[thread], tile_indices[thread] = value, index
    cuda.syncthreads()  # the tiles are complete
    stride = THREADS // 2
    while stride > 0:
        if thread < stride:
            other, other_index = tile_values[thread + stride], tile_indices[thread + stride]
            if beats(other, other_index, tile_values[thread], tile_indices[thread]):
                tile_values[thread], tile_indices[thread] = other, other_index
        cuda.syncthreads()  # the pairs of this level are complete
        stride //= 2


@cuda.jit
def kernel(x, values, indices):
    tile_values = cuda.shared.array(THREADS, float32)
    tile_indices = cuda.shared.array(THREADS, int32)
    value, index = chunk_best(x)
    climb_tree(tile_values, tile_indices, value, index)
    if cuda.threadIdx.x == 0:
        values[cuda.blockIdx.x], indices[cuda.blockIdx.x] = tile_values[0], tile_indices[0]


@cuda.jit
def last_kernel(values, indices, result):
    tile_values = cuda.shared.array(THREADS, float32)
    tile_indices = cuda.shared.array(THREADS, int32)
    value, index = pairs_best(values, indices)
    climb_tree(tile_values, tile_indices, value, index)
    if cuda.threadIdx.x == 0:
        result[0] = tile_indices[0]


def scratch(case: Case, inputs: Arrays) -> Layout:
    blocks = ceil_div(case["n"], PER_BLOCK)
    return {"values": ((blocks,), "float32"), "indices": ((blocks,), "int32")}


def run(buffers, stream):
    x, values, indices = buffers["x"], buffers["values"], buffers["indices"]
    kernel[values.size, THREADS, stream](x, values, indices)
    last_kernel[1, THREADS, stream](values, indices, buffers["index"])


def cost(case: Case) -> Cost:
    blocks = ceil_div(case["n"], PER_BLOCK)
    loads = case["n"] + blocks + min(blocks, THREADS)  # the values; those of the pairs; an index for each busy thread
    return Cost(flops=case["n"] - 1, load_bytes=4 * loads, store_bytes=8 * blocks + 8)


CLAIMS = ()
