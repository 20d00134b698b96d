# Exercise matmul/coalesced: complete this file, then run  ./ladder exercise check matmul/coalesced
"""Consecutive threads take consecutive columns.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 0 B shared
Cost:       2mnk FLOP; asks for 8mnk B of loads and 4mn B of stores, before caches
Why faster: per warp and k, 33 sectors (32 B) of loads become 5: B's row is read in one piece, A's cell by all
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 2
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

SIDE = 32


@cuda.jit
def kernel(a, b, c):
    # TODO: give consecutive threads consecutive columns (1 line)
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def run(buffers, stream):
    c = buffers["c"]
    # TODO: then columns are the x of the grid (1 line)
    grid = ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)
    kernel[grid, (SIDE, SIDE), stream](buffers["a"], buffers["b"], c)
