# Exercise first/dot: complete this file, then run  ./ladder exercise check first/dot
"""A block adds up 128 products in seven rounds.

Computes: out[block] = sum of a[i] * b[i] over the block's cells, 128 or what is left; a and b (n,), out (ceil(n/128),) float32
Launch:   grid ceil(n/128), block 128: one thread for each product
Given:    tile, shared by the block; nobody has written it when the block begins
Write:    one product for each thread; then rounds, in each of which half as many threads add the upper half of what is left to
          the lower half; then one thread stores
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
    # TODO: one product into each cell of the tile, 0 past the end; then wait (2 lines)
    pass
    step = THREADS // 2
    while step > 0:
        # TODO: the first `step` threads add the cell `step` further on to their own; then wait (3 lines)
        pass
        step //= 2
    # TODO: one thread stores the block's sum (2 lines)
    pass


def run(buffers, stream):
    a = buffers["a"]
    kernel[ceil_div(a.shape[0], THREADS), THREADS, stream](a, buffers["b"], buffers["out"])
