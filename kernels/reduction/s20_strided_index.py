"""The threads that add stand side by side: thread t takes the t-th pair instead of the pair at cell t.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0
Launch:     grid ceil(n/256), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Changed:    from interleaved: the index of the sum is a multiple of the thread's number, not the number itself
Why faster: warps that do not add skip the level as one, so fewer of them part and fewer access shared memory; but
            the cells that a warp reads now lie 2, 4, 8 and more words apart, in the same banks
Source:     Mark Harris, Optimizing Parallel Reduction in CUDA, Reduction 2: Interleaved Addressing
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Arrays, Case, Claim, Cost, Layout
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
        # gap: let the first threads of the block add, each another pair | 3 lines
        left = 2 * stride * thread
        if left < THREADS:
            tile[left] += tile[left + stride]
        # instead
        #- if thread % (2 * stride) == 0:
        #-     tile[thread] += tile[thread + stride]
        # end gap
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


CASE = Case(n=16384)  # 64 blocks, and one over their sums
CLAIMS = (
    # per block, warps that part: all 8 on 5 levels, then 4, 2, 1, and 1 at the end; then 1 on each of 5 levels, and 1
    Claim("simt__branches_divergent", before=65 * (5 * 8 + 4 + 2 + 1 + 1), after=65 * (5 + 1), case=CASE),
    # per block, warps that add, 2 loads each: 8 on 5 levels, then 4, 2, 1; then 4, 2, 1 and 1 on 5 more; and the result
    Claim(
        "simt__shared_requests_op_ld",
        before=65 * (2 * (5 * 8 + 4 + 2 + 1) + 1),
        after=65 * (2 * (4 + 2 + 1 + 5) + 1),
        case=CASE,
    ),
)
