"""Trap: the last 32 sums of a tree without any barrier, because "a warp runs in step".

Computes:   total = sum of x, or something else: threads of a warp need not run in step since Volta (cc 7.0)
Launch:     grid ceil(n/512), block 256, 1 KiB shared; again over the partial sums until one is left
Cost:       n - 1 additions; asks for 4 B of loads per value and 4 B of stores per block, in each launch
Changed:    from first_add: from 32 values down, no barrier between one thread's store and another one's load
Why faster: it saves 5 barriers of 9, as shuffle_tail does; but the race checker names the lines, and shuffle_tail is right
Source:     Mark Harris, Optimizing Parallel Reduction in CUDA, Reduction 5: Unroll the Last Warp (2007); NVIDIA, Volta
            Tuning Guide, Independent Thread Scheduling: such code needs syncwarp
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Arrays, Case, Cost, Layout
from kernels.reduction import levels

THREADS = 256
PER_BLOCK = 2 * THREADS
WARP = 32


@cuda.jit
def kernel(x, partials):
    tile = cuda.shared.array(THREADS, x.dtype)
    thread = uint32(cuda.threadIdx.x)
    number = x.dtype.type
    i = cuda.blockIdx.x * PER_BLOCK + thread
    first = x[i] if i < x.size else number(0)
    second = x[i + THREADS] if i + THREADS < x.size else number(0)
    tile[thread] = first + second
    cuda.syncthreads()  # the tile is complete
    stride = THREADS // 2
    while stride > WARP:
        if thread < stride:
            tile[thread] += tile[thread + stride]
        cuda.syncthreads()  # the sums of this level are complete
        stride //= 2
    if thread < WARP:
        while stride > 0:
            tile[thread] += tile[thread + stride]
            # Numba's nearest to the `volatile` of CUDA C: this thread's store comes before its next load, and the compiler
            # keeps that order (without this line it does not, and the sum is wrong at once). No cure: lane 0 still does
            # not wait for lane 16. Where lanes happen to run in step, as they do on the emulated device, the sum is right.
            cuda.threadfence_block()
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
