# Exercise first/conv_1d: complete this file, then run  ./ladder exercise check first/conv_1d
"""A convolution: the block's tile needs some cells of its neighbour, the halo.

Computes: out[i] = sum over k < 5 of a[i + k] * w[k], where cells of a past the end count as 0;
          a and out (n,), w (5,) float32, any n >= 1
Launch:   grid ceil(n/64), block 64
Given:    a tile for the 64 cells of the block and the 4 behind them, its halo
Write:    load the tile and its halo, wait; then the sum, from the tile
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
    # TODO: load a cell into the tile, and with the first HALO threads one of the halo, zeros past the end; then wait (5 lines)
    pass
    if i < out.shape[0]:
        total = float32(0)
        # TODO: add up the five products, with cells of the tile (2 lines)
        pass
        out[i] = total


def run(buffers, stream):
    out = buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](buffers["a"], buffers["w"], out)
