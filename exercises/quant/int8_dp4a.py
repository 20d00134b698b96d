# Exercise quant/int8_dp4a: complete this file, then run  ./ladder exercise check quant/int8_dp4a
"""Four codes at a time: a load moves a word of them, and one instruction multiplies and adds all four.

Computes:   C[m, n] = scale_a[m] scale_b[n] (sum over k of A[m, k] * B[n, k]) + bias[n]; int8 to float32, any m n, k <= 131071
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 8.1 KiB shared; tiled's kernel unless 4 divides k; then the scales
Cost:       2mnk operations; asks for k (m ceil(n/32) + n ceil(m/32)) + 16mn B of loads and 8mn B of stores
Why faster: a quarter of the loads, from global and from shared memory, and of the barriers. NVVM makes dp4a of tiled's
            multiply-adds too, but has to pack each word from four bytes that it loaded one by one
Source:     PTX ISA, Integer Arithmetic Instructions: dp4a
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import ceil_div
from kernels.dp4a import WIDTH, dp4a, words
from kernels.quant.int8_matmul.s20_naive import launch_scale
from kernels.quant.int8_matmul.s20_naive import scratch as scratch
from kernels.quant.int8_matmul.s30_tiled import launch as launch_tiled

TILE = 32  # results, and words along k: 128 codes
ROW = TILE + 1  # a word that nobody uses, so that 32 rows lie in 32 banks


@cuda.jit
def kernel(a, b, sums):
    # a and b: words of four codes
    tile_a = cuda.shared.array((TILE, TILE), int32)
    tile_b = cuda.shared.array((TILE, ROW), int32)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    b_row = cuda.blockIdx.x * TILE + y  # B is stored along k: its rows are the columns of C
    total = int32(0)
    for k0 in range(0, a.shape[1], TILE):
        # TODO: load a word into each tile, 0 past the edges; then four products at a time (7 lines)
        pass
    if row < sums.shape[0] and col < sums.shape[1]:
        sums[row, col] = total


def run(buffers, stream):
    a, b, sums = buffers["a"], buffers["b"], buffers["sums"]
    if a.shape[1] % WIDTH == 0:
        grid = ceil_div(sums.shape[1], TILE), ceil_div(sums.shape[0], TILE)
        kernel[grid, (TILE, TILE), stream](words(a), words(b), sums)
    else:
        launch_tiled(a, b, sums, stream)
    launch_scale(buffers, stream)
