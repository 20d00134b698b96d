# Exercise matmul/naive: complete this file, then run  ./ladder exercise check matmul/naive
"""One thread per cell of C, and consecutive threads take consecutive rows.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(m/32), ceil(n/32)), block (32, 32), 0 B shared
Cost:       2mnk FLOP; asks for 8mnk B of loads and 4mn B of stores, before caches
Why faster: it is not: it is what the others are compared with
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 1
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

SIDE = 32


@cuda.jit
def kernel(a, b, c):
    # TODO: one cell of C per thread; consecutive threads take consecutive rows (6 lines)
    pass


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)
    kernel[grid, (SIDE, SIDE), stream](buffers["a"], buffers["b"], c)
