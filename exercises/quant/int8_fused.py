# Exercise quant/int8_fused: complete this file, then run  ./ladder exercise check quant/int8_fused
"""The thread that has a sum scales it: one launch, and no sums in memory.

Computes:   C[m, n] = scale_a[m] scale_b[n] (sum over k of A[m, k] * B[n, k]) + bias[n]; int8 to float32, any m n, k <= 131071
Launch:     grid (ceil(n/128), ceil(m/128)), block 256, 8.3 KiB shared; register_tiled's launches unless 4 divides k
Cost:       2mnk operations; asks for (k + 64) m ceil(n/128) + (k + 128) n ceil(m/128) B of loads and 4mn B of stores where 4
            divides k
Why faster: half the bytes of stores; no sums to load; a scale is loaded for 8 results of a thread instead of for each
Source:     ours; CUTLASS documentation, Efficient GEMM in CUDA, Epilogue
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from kernels.case import Case, ceil_div
from kernels.dp4a import WIDTH, words
from kernels.quant.int8_matmul import s50_register_tiled
from kernels.quant.int8_matmul.s50_register_tiled import HALF, PART, SIDE, THREADS, TILE, accumulate


@cuda.jit
def kernel(a, b, scale_a, scale_b, bias, c):
    totals = cuda.local.array((PART, PART), int32)
    scales = cuda.local.array(PART, float32)
    thread = uint32(cuda.threadIdx.x)
    tile_row, tile_col = uint32(cuda.blockIdx.y) * TILE, uint32(cuda.blockIdx.x) * TILE
    row, col = thread // SIDE * HALF, thread % SIDE * HALF
    accumulate(a, b, tile_row, tile_col, row, col, totals)
    for i in range(PART):
        y = tile_row + row + i // HALF * TILE // 2 + i % HALF
        scales[i] = scale_a[y] if y < c.shape[0] else float32(0)
    for j in range(PART):
        x = tile_col + col + j // HALF * TILE // 2 + j % HALF
        if x < c.shape[1]:
            # TODO: scale this thread's sums of column x, add the bias, and store what is inside C (5 lines)
            pass


def run(buffers, stream):
    a, b, c = buffers["a"], buffers["b"], buffers["c"]
    if a.shape[1] % WIDTH:
        s50_register_tiled.run(buffers, stream)
        return
    grid = ceil_div(c.shape[1], TILE), ceil_div(c.shape[0], TILE)
    kernel[grid, THREADS, stream](words(a), words(b), buffers["scale_a"], buffers["scale_b"], buffers["bias"], c)


def scratch(case: Case, inputs):
    return s50_register_tiled.scratch(case, inputs) if case["k"] % WIDTH else {}
