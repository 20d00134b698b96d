# Exercise detective/product: mend this file, then run  ./ladder exercise check detective/product
"""A tiled matrix product that is right for small matrices, and otherwise on most days.

Computes: out[row, col] = sum over k of a[row, k] * b[k, col]; a (m, k), b (k, n), out (m, n) float32, any shape
Launch:   grid (ceil(n/8), ceil(m/8)), block (8, 8): two warps, which share one tile of a and one of b at a time
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

TILE = 8


@cuda.jit
def kernel(a, b, out):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k0 in range(0, a.shape[1], TILE):
        inside_a = row < a.shape[0] and k0 + x < a.shape[1]
        inside_b = k0 + y < b.shape[0] and col < b.shape[1]
        tile_a[y, x] = a[row, k0 + x] if inside_a else float32(0)
        tile_b[y, x] = b[k0 + y, col] if inside_b else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = total


def run(buffers, stream):
    out = buffers["out"]
    grid = ceil_div(out.shape[1], TILE), ceil_div(out.shape[0], TILE)
    kernel[grid, (TILE, TILE), stream](buffers["a"], buffers["b"], out)
