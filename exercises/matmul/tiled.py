# Exercise matmul/tiled: complete this file, then run  ./ladder exercise check matmul/tiled
"""The block shares one tile of A and one of B at a time.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 8 KiB shared
Cost:       2mnk FLOP; asks for 4k (m ceil(n/32) + n ceil(m/32)) B of loads and 4mn B of stores
Why faster: a value that 32 threads need is loaded from global memory once for all of them: 1/32 of the load requests
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 3; CUDA C++ Programming Guide, Shared Memory
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

TILE = 32


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k0 in range(0, a.shape[1], TILE):
        # TODO: load one cell of each tile, 0 past the edges, then wait (5 lines)
        pass
        # TODO: add the products of a row of one tile and a column of the other, then wait (3 lines)
        pass
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[1], TILE), ceil_div(c.shape[0], TILE)
    kernel[grid, (TILE, TILE), stream](buffers["a"], buffers["b"], c)
