# Exercise detective/total: mend this file, then run  ./ladder exercise check detective/total
"""A sum from an old textbook: right on old GPUs, and on this machine.

Computes: out[block] = sum of the block's cells, 128 or what is left; a (n,), out (ceil(n/128),) float32, any n >= 1
Launch:   grid ceil(n/128), block 128
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 128
WARP = 32


@cuda.jit
def kernel(a, out):
    tile = cuda.shared.array(THREADS, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[x] = a[i] if i < a.shape[0] else float32(0)
    cuda.syncthreads()
    step = THREADS // 2
    while step >= WARP:
        if x < step:
            tile[x] += tile[x + step]
        cuda.syncthreads()
        step //= 2
    if x < WARP:
        while step > 0:
            tile[x] += tile[x + step]
            step //= 2
    if x == 0:
        out[cuda.blockIdx.x] = tile[0]


def run(buffers, stream):
    a = buffers["a"]
    kernel[ceil_div(a.shape[0], THREADS), THREADS, stream](a, buffers["out"])
