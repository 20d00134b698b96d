"""The block shares one tile of codes of A and one of B at a time.

Computes:   C[m, n] = scale_a[m] scale_b[n] (sum over k of A[m, k] * B[n, k]) + bias[n]; int8 to float32, any m n, k <= 131071
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 2.1 KiB shared; then naive's launch for the scales
Cost:       2mnk operations; asks for k (m ceil(n/32) + n ceil(m/32)) + 16mn B of loads and 8mn B of stores
Changed:    from naive: the loop over k goes tile by tile through shared memory, between two barriers
Why faster: a code that 32 threads need is asked for once, and a load takes 1 sector where one of B took 32
Source:     ours, after matmul/tiled
"""

from __future__ import annotations

from numba import cuda, int8, int32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.quant.int8_matmul.s20_naive import launch_scale
from kernels.quant.int8_matmul.s20_naive import scratch as scratch

TILE = 32
ROW = TILE + 4  # nine banks from row to row, so that 32 rows lie in 32 banks


@cuda.jit
def kernel(a, b, sums):
    tile_a = cuda.shared.array((TILE, TILE), int8)
    tile_b = cuda.shared.array((TILE, ROW), int8)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    b_row = cuda.blockIdx.x * TILE + y  # B is stored along k: its rows are the columns of C
    total = int32(0)
    for k0 in range(0, a.shape[1], TILE):
        inside = k0 + x < a.shape[1]
        # Zeros past the edges add nothing, so the inner loop needs no guard.
        tile_a[y, x] = a[row, k0 + x] if inside and row < a.shape[0] else int8(0)
        tile_b[y, x] = b[b_row, k0 + x] if inside and b_row < b.shape[0] else int8(0)
        cuda.syncthreads()  # the tiles are complete
        for i in range(TILE):
            total = int32(total + int32(tile_a[y, i]) * int32(tile_b[x, i]))
        cuda.syncthreads()  # nobody reloads while others still read
    if row < sums.shape[0] and col < sums.shape[1]:
        sums[row, col] = total


def launch(a, b, sums, stream):
    grid = ceil_div(sums.shape[1], TILE), ceil_div(sums.shape[0], TILE)
    kernel[grid, (TILE, TILE), stream](a, b, sums)


def run(buffers, stream):
    a, b = buffers["a"], buffers["b"]
    launch(a, b, buffers["sums"], stream)
    launch_scale(buffers, stream)


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    # Every block column reads all of A, every block row all of B.
    loads = m * k * ceil_div(n, TILE) + k * n * ceil_div(m, TILE)
    return Cost(flops=2 * m * n * k, load_bytes=loads + 16 * m * n, store_bytes=8 * m * n)


CASE = Case(m=64, n=64, k=64)
CLAIMS = (
    # 128 warps: 2 loads for each of 64 values of k; then 2 for each of 2 tiles; 4 to scale the sums, before and after
    Claim(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        before=128 * (64 * 2 + 4),
        after=128 * (2 * 2 + 4),
        case=CASE,
    ),
    # sectors: 1 of A and 32 of B per load; then 1 of either; 4 of sums, 1 of scale_a, 4 of scale_b and 4 of the bias
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        before=128 * (64 * (1 + 32) + 13),
        after=128 * (2 * (1 + 1) + 13),
        case=CASE,
    ),
)
