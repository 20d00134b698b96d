"""Each thread adds two values while it loads them, so that no thread is idle before the tree begins.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0
Launch:     grid ceil(n/512), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Changed:    from sequential: a block covers 512 values; the first addition happens in a register
Why faster: half as many blocks, so half the barriers, shared accesses and partial sums for the same values
Source:     Mark Harris, Optimizing Parallel Reduction in CUDA, Reduction 4: First Add During Load
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Arrays, Case, Claim, Cost, Layout
from kernels.reduction import levels

THREADS = 256
# gap: how many values does a block take? | 1 line
PER_BLOCK = 2 * THREADS
# instead
#- PER_BLOCK = THREADS
# end gap


@cuda.jit
def kernel(x, partials):
    tile = cuda.shared.array(THREADS, x.dtype)
    thread = uint32(cuda.threadIdx.x)
    number = x.dtype.type  # a plain 0 would make float64 of float32
    # gap: add two values while loading them, 0 past the end | 4 lines
    i = cuda.blockIdx.x * PER_BLOCK + thread
    # Zeros past the end add nothing, so the tree needs no guard.
    first = x[i] if i < x.size else number(0)
    second = x[i + THREADS] if i + THREADS < x.size else number(0)
    tile[thread] = first + second
    # instead
    #- i = cuda.grid(1)
    #- tile[thread] = x[i] if i < x.size else number(0)
    # end gap
    cuda.syncthreads()  # the tile is complete
    stride = THREADS // 2
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


def cost(case: Case) -> Cost:
    return levels.cost(case, PER_BLOCK)


CASE = Case(n=16384)  # 64 blocks, and one over their sums; then 32 and one
CLAIMS = (
    # 8 warps, 9 barriers
    Claim("simt__barriers", before=65 * 8 * 9, after=33 * 8 * 9, case=CASE),
    # the tile, 8 warps, and the warps that add on each level
    Claim("simt__shared_requests_op_st", before=65 * (8 + 4 + 2 + 6), after=33 * (8 + 4 + 2 + 6), case=CASE),
)
