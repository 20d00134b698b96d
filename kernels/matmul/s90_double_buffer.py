"""While one pair of tiles is used, the next one is on its way.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/128), ceil(m/128)), block 128, 16640 B shared; register_2d's kernel unless 4 divides k and n
Cost:       2mnk FLOP; asks for 4k (m ceil(n/128) + n ceil(m/128)) B of loads and 4mn B of stores
Changed:    from warp_tile: two pairs of tiles by turns; the next tiles' loads start before this tile's multiply-adds
Why faster: one barrier per tile instead of two
Source:     NVIDIA, CUTLASS documentation, Efficient GEMM in CUDA, Pipelining
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.intrinsics import load4, rows_aligned, store4
from kernels.matmul.s50_register_2d import THREADS as SCALAR_THREADS
from kernels.matmul.s50_register_2d import kernel as scalar_kernel

TILE_M, TILE_N, TILE_K = 128, 128, 8
HALF_M, HALF_K = TILE_M // 2, TILE_K // 2  # the rows of a tile of A and of B that the block loads at once
WARP_M, WARP_N = 64, 64
THREAD_M, THREAD_N = 8, 16  # results per thread, in groups of 4 x 4
GROUP_M, GROUP_N = 32, 16  # what the 8 x 4 threads of a warp cover with one group each
THREADS = TILE_M // WARP_M * (TILE_N // WARP_N) * 32
ROW_A = TILE_M + 4  # a column of A, and 16 B that nobody uses: the next column starts four banks on
ZEROS = (float32(0), float32(0), float32(0), float32(0))


@cuda.jit(device=True)
def load4_or_zeros(array, row, col):
    # Rows are multiples of 4, so the first of four neighbours is inside only if all are.
    return load4(array, (row, col)) if row < array.shape[0] and col < array.shape[1] else ZEROS


@cuda.jit(device=True)
def multiply(tile_a, tile_b, row, col, totals):
    values_a = cuda.local.array(THREAD_M, float32)
    values_b = cuda.local.array(THREAD_N, float32)
    for k in range(TILE_K):
        for i in range(0, THREAD_M, 4):
            y = row + i // 4 * GROUP_M
            values_a[i], values_a[i + 1], values_a[i + 2], values_a[i + 3] = load4(tile_a, (k, y))
        for j in range(0, THREAD_N, 4):
            x = col + j // 4 * GROUP_N
            values_b[j], values_b[j + 1], values_b[j + 2], values_b[j + 3] = load4(tile_b, (k, x))
        for i in range(THREAD_M):
            for j in range(THREAD_N):
                totals[i, j] += values_a[i] * values_b[j]


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((2, TILE_K, ROW_A), float32, alignment=16)  # transposed
    tile_b = cuda.shared.array((2, TILE_K, TILE_N), float32, alignment=16)
    totals = cuda.local.array((THREAD_M, THREAD_N), float32)
    for i in range(THREAD_M):
        for j in range(THREAD_N):
            totals[i, j] = 0

    thread = uint32(cuda.threadIdx.x)
    warp, lane = thread // 32, thread % 32
    tile_row, tile_col = uint32(cuda.blockIdx.y) * TILE_M, uint32(cuda.blockIdx.x) * TILE_N
    # Within the tiles: the first of the cells that this thread loads, and its first result.
    a_row, a_col = thread // 2, thread % 2 * 4
    b_row, b_col = thread // 32, thread % 32 * 4
    row, col = warp // 2 * WARP_M + lane // 4 * 4, warp % 2 * WARP_N + lane % 4 * 4

    a_upper = load4_or_zeros(a, tile_row + a_row, a_col)
    a_lower = load4_or_zeros(a, tile_row + a_row + HALF_M, a_col)
    b_upper = load4_or_zeros(b, b_row, tile_col + b_col)
    b_lower = load4_or_zeros(b, b_row + HALF_K, tile_col + b_col)
    turn = 0
    for k0 in range(0, a.shape[1], TILE_K):
        for i in range(4):
            tile_a[turn, a_col + i, a_row] = a_upper[i]
            tile_a[turn, a_col + i, a_row + HALF_M] = a_lower[i]
        store4(tile_b, (turn, b_row, b_col), b_upper)
        store4(tile_b, (turn, b_row + HALF_K, b_col), b_lower)
        # The tiles are complete; and whoever writes the other pair next has waited here for its last reader.
        cuda.syncthreads()
        # gap: start the loads of the next tiles, before the multiply-adds of this one | 5 lines
        next_k0 = k0 + TILE_K
        a_upper = load4_or_zeros(a, tile_row + a_row, next_k0 + a_col)
        a_lower = load4_or_zeros(a, tile_row + a_row + HALF_M, next_k0 + a_col)
        b_upper = load4_or_zeros(b, next_k0 + b_row, tile_col + b_col)
        b_lower = load4_or_zeros(b, next_k0 + b_row + HALF_K, tile_col + b_col)
        # end gap
        multiply(tile_a[turn], tile_b[turn], row, col, totals)
        turn ^= 1

    for i in range(THREAD_M):
        for j in range(0, THREAD_N, 4):
            y, x = tile_row + row + i // 4 * GROUP_M + i % 4, tile_col + col + j // 4 * GROUP_N
            if y < c.shape[0] and x < c.shape[1]:
                store4(c, (y, x), (totals[i, j], totals[i, j + 1], totals[i, j + 2], totals[i, j + 3]))


def run(buffers, stream):
    a, b, c = buffers["a"], buffers["b"], buffers["c"]
    grid = ceil_div(c.shape[1], TILE_N), ceil_div(c.shape[0], TILE_M)
    # Rows that start off a 16-byte boundary cannot be read 16 bytes at a time.
    if rows_aligned(a, b, c):
        kernel[grid, THREADS, stream](a, b, c)
    else:
        scalar_kernel[grid, SCALAR_THREADS, stream](a, b, c)


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    # Every block column reads all of A, every block row all of B.
    loads = m * k * ceil_div(n, TILE_N) + k * n * ceil_div(m, TILE_M)
    return Cost(flops=2 * m * n * k, load_bytes=4 * loads, store_bytes=4 * m * n)


# 4 warps, 8 tiles along k: 2 barriers; then 1
CLAIMS = (Claim("simt__barriers", before=4 * 8 * 2, after=4 * 8, case=Case(m=128, n=128, k=64)),)
