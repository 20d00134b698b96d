# Exercise first/shared: complete this file, then run  ./ladder exercise check first/shared
"""Threads of a block show each other their cells.

Computes: out[i] = a[i] - its mirror cell, where the mirror cell of a block's first cell is the block's last one, and so on;
          a and out (n,) float32, any n >= 1. A block has 64 cells, the last one what is left: `cells` of them
Launch:   grid ceil(n/64), block 64, which is two warps
Given:    tile, an array that all threads of a block share; nobody has written it when the block begins
Write:    one thread loads one cell into the tile; then wait until all have done so; then subtract. No cell of a is loaded twice
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 64


@cuda.jit
def kernel(a, out):
    tile = cuda.shared.array(THREADS, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    cells = min(THREADS, a.shape[0] - cuda.blockIdx.x * THREADS)
    # TODO: put cell i into the tile, wait for the others, then subtract the mirror cell from cell i (5 lines)
    pass


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
