"""A convolution: the block's tile needs some cells of its neighbour, the halo.

Computes: out[i] = sum over k < 5 of a[i + k] * w[k], where cells of a past the end count as 0;
          a and out (n,), w (5,) float32, any n >= 1
Launch:   grid ceil(n/64), block 64
Given:    a tile for the 64 cells of the block and the 4 behind them, its halo
Write:    load the tile and its halo, wait; then the sum, from the tile

Answer: thread 63 needs a[i] to a[i + 4], of which four belong to the next block's cells; blocks do not see each other's
shared memory, so each loads them for itself. Four threads load a second cell. Zeros past the end make every cell of the tile
defined, so that the sum needs no guard of its own.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 64
WIDTH = 5
HALO = WIDTH - 1
TILE = THREADS + HALO


@cuda.jit
def kernel(a, w, out):
    tile = cuda.shared.array(TILE, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    # gap: load a cell into the tile, and with the first HALO threads one of the halo, zeros past the end; then wait | 5 lines
    tile[x] = a[i] if i < a.shape[0] else float32(0)
    if x < HALO:
        behind = i + THREADS
        tile[x + THREADS] = a[behind] if behind < a.shape[0] else float32(0)
    cuda.syncthreads()  # the tile is complete
    # end gap
    if i < out.shape[0]:
        total = float32(0)
        # gap: add up the five products, with cells of the tile | 2 lines
        for k in range(WIDTH):
            total += tile[x + k] * w[k]
        # end gap
        out[i] = total


def run(buffers, stream):
    out = buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](buffers["a"], buffers["w"], out)
