"""A block adds up 128 products in seven rounds.

Computes: out[block] = sum of a[i] * b[i] over the block's cells, 128 or what is left; a and b (n,), out (ceil(n/128),) float32
Launch:   grid ceil(n/128), block 128: one thread for each product
Given:    tile, shared by the block; nobody has written it when the block begins
Write:    one product for each thread; then rounds, in each of which half as many threads add the upper half of what is left to
          the lower half; then one thread stores

Answer: a thread past the end puts 0 into the tile: the rounds add all 128 cells. Each round reads what others wrote in the
round before, so a barrier stands between two rounds, and all threads come to it: inside `if x < step` only some would.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 128


@cuda.jit
def kernel(a, b, out):
    tile = cuda.shared.array(THREADS, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    # gap: one product into each cell of the tile, 0 past the end; then wait | 2 lines
    tile[x] = a[i] * b[i] if i < a.shape[0] else float32(0)
    cuda.syncthreads()
    # end gap
    step = THREADS // 2
    while step > 0:
        # gap: the first `step` threads add the cell `step` further on to their own; then wait | 3 lines
        if x < step:
            tile[x] += tile[x + step]
        cuda.syncthreads()  # the next round reads what this one wrote
        # end gap
        step //= 2
    # gap: one thread stores the block's sum | 2 lines
    if x == 0:
        out[cuda.blockIdx.x] = tile[0]
    # end gap


def run(buffers, stream):
    a = buffers["a"]
    kernel[ceil_div(a.shape[0], THREADS), THREADS, stream](a, buffers["b"], buffers["out"])
