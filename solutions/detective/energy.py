"""A sum of squares that turns negative when the signal is loud.

Computes: out[block] = sum of a[i] * a[i] over the block's cells, 128 or what is left; a (n,) int16, out (ceil(n/128),) int64
Launch:   grid ceil(n/128), block 128
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code

Answer: quiet signals come out right, loud ones are wrong by a multiple of 4294967296, which is 2**32: somewhere a sum was
kept in 32 bits. A square of an int16 is up to 2**30, so that two of them fill an int32. Numba multiplies in int64, and out is
int64; what cuts is the tile between them, whose type the kernel has to say.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from kernels.case import ceil_div

THREADS = 128


@cuda.jit
def kernel(a, out):
    # planted
    tile = cuda.shared.array(THREADS, int64)
    # instead
    #- tile = cuda.shared.array(THREADS, int32)
    # end planted
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
