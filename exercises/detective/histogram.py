# Exercise detective/histogram: mend this file, then run  ./ladder exercise check detective/histogram
"""Counts that are wrong in every bin, and each time by the same number.

Computes: out[block, bin] = how many of the block's cells are in that bin, 0 to 15; a (n,) int32 with values 0 to 15,
          out (ceil(n/128), 16) int32, any n >= 1
Launch:   grid ceil(n/128), block 128: one thread for each cell. A block counts in shared memory with atomics
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import ceil_div

THREADS = 128
BINS = 16


@cuda.jit
def kernel(a, out):
    counts = cuda.shared.array(BINS, int32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.shape[0]:
        cuda.atomic.add(counts, a[i], 1)
    cuda.syncthreads()  # all have counted
    if x < BINS:
        out[cuda.blockIdx.x, x] = counts[x]


def run(buffers, stream):
    a = buffers["a"]
    kernel[ceil_div(a.shape[0], THREADS), THREADS, stream](a, buffers["out"])
