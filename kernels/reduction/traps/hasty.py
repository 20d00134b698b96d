"""Trap: a tree that waits once, when the tile is complete, and never again.

Computes:   total = sum of x, or something else: whatever the order of the warps makes of it
Launch:     grid ceil(n/256), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Changed:    from sequential: no barrier between the levels
Why faster: it saves 8 barriers of 9; but the race checker names the line, and the values are right in some orders only
Source:     ours
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
    number = x.dtype.type
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else number(0)
    cuda.syncthreads()  # the tile is complete
    stride = THREADS // 2
    while stride > 0:
        if thread < stride:
            tile[thread] += tile[thread + stride]
        stride //= 2
    if thread == 0:
        partials[cuda.blockIdx.x] = tile[0]


def scratch(case: Case, inputs: Arrays) -> Layout:
    return levels.scratch(case, inputs, PER_BLOCK)


def run(buffers, stream):
    levels.run(kernel, PER_BLOCK, THREADS, buffers, stream)


def cost(case: Case) -> Cost:
    return levels.cost(case, PER_BLOCK)


CLAIMS = ()
