# Exercise detective/energy: mend this file, then run  ./ladder exercise check detective/energy
"""A sum of squares that turns negative when the signal is loud.

Computes: out[block] = sum of a[i] * a[i] over the block's cells, 128 or what is left; a (n,) int16, out (ceil(n/128),) int64
Launch:   grid ceil(n/128), block 128
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, int32, int64

from kernels.case import ceil_div

THREADS = 128


@cuda.jit
def kernel(a, out):
    tile = cuda.shared.array(THREADS, int32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    value = int32(0)
    if i < a.shape[0]:
        value = int32(a[i])
    tile[x] = value * value
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if x < step:
            tile[x] += tile[x + step]
        cuda.syncthreads()
        step //= 2
    if x == 0:
        out[cuda.blockIdx.x] = tile[0]


def run(buffers, stream):
    a = buffers["a"]
    kernel[ceil_div(a.shape[0], THREADS), THREADS, stream](a, buffers["out"])
