"""Threads of a block show each other their cells.

Computes: out[i] = a[i] - its mirror cell, where the mirror cell of a block's first cell is the block's last one, and so on;
          a and out (n,) float32, any n >= 1. A block has 64 cells, the last one what is left: `cells` of them
Launch:   grid ceil(n/64), block 64, which is two warps
Given:    tile, an array that all threads of a block share; nobody has written it when the block begins
Write:    one thread loads one cell into the tile; then wait until all have done so; then subtract. No cell of a is loaded twice

Answer: cuda.syncthreads() lets no thread go on before all threads of the block have come. Without it the second warp may read
what the first has not written yet. All 64 threads have to come, also those past the end: the barrier stands outside of both
guards. In the last block only `cells` cells of the tile are written, and the mirror of the first is number cells - 1, not 63:
the rest of shared memory holds whatever was there, and that is not zero.
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
    # gap: put cell i into the tile, wait for the others, then subtract the mirror cell from cell i | 5 lines
    if i < a.shape[0]:
        tile[x] = a[i]
    cuda.syncthreads()  # the tile is complete
    if i < out.shape[0]:
        out[i] = tile[x] - tile[cells - 1 - x]
    # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
