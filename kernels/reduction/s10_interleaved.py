"""A tree in shared memory: every second thread adds its right neighbour, then every fourth, and so on.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0
Launch:     grid ceil(n/256), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     Mark Harris, Optimizing Parallel Reduction in CUDA, Reduction 1: Interleaved Addressing
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Arrays, Case, Cost, Layout
from kernels.reduction import levels

THREADS = 256
PER_BLOCK = THREADS


@cuda.jit
def kernel(x, partials):
    tile = cuda.shared.array(THREADS, x.dtype)
    thread = uint32(cuda.threadIdx.x)
    number = x.dtype.type  # a plain 0 would make float64 of float32
    i = cuda.grid(1)
    # Zeros past the end add nothing, so the tree needs no guard.
    tile[thread] = x[i] if i < x.size else number(0)
    cuda.syncthreads()  # the tile is complete
    stride = 1
    while stride < THREADS:
        if thread % (2 * stride) == 0:
            tile[thread] += tile[thread + stride]
        cuda.syncthreads()  # the sums of this level are complete
        stride *= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = tile[0]


def scratch(case: Case, inputs: Arrays) -> Layout:
    return levels.scratch(case, inputs, PER_BLOCK)


def run(buffers, stream):
    levels.run(kernel, PER_BLOCK, THREADS, buffers, stream)


def cost(case: Case) -> Cost:
    return levels.cost(case, PER_BLOCK)


CLAIMS = ()
