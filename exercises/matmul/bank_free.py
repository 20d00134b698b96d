# Exercise matmul/bank_free: complete this file, then run  ./ladder exercise check matmul/bank_free
"""No two threads of a warp want different words of one bank of shared memory.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/128), ceil(m/128)), block 256, 8320 B shared; register_2d's kernel unless 4 divides k and n
Cost:       2mnk FLOP; asks for 4k (m ceil(n/128) + n ceil(m/128)) B of loads and 4mn B of stores
Why faster: bank conflicts of shared loads and stores fall to 0, and stores of C fill whole sectors
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, code of Kernels 7 and 8; layout ours
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from kernels.case import ceil_div
from kernels.intrinsics import load4, rows_aligned, store4
from kernels.matmul.s50_register_2d import kernel as scalar_kernel

TILE_M, TILE_N, TILE_K = 128, 128, 8
THREAD_M, THREAD_N = 8, 8  # results per thread
THREAD_COLS = TILE_N // THREAD_N
# TODO: keep the threads of a warp in different banks (2 lines)
HALF_N = 4  # from a thread's first four columns to its last four
ROW_A = TILE_M  # words from one column of A to the next
THREADS = TILE_M // THREAD_M * THREAD_COLS
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
            values_a[i], values_a[i + 1], values_a[i + 2], values_a[i + 3] = load4(tile_a, (k, row + i))
        for j in range(0, THREAD_N, 4):
            # Eight neighbouring threads read 128 B in a row: every bank once.
            x = col + j // 4 * HALF_N
            values_b[j], values_b[j + 1], values_b[j + 2], values_b[j + 3] = load4(tile_b, (k, x))
        for i in range(THREAD_M):
            for j in range(THREAD_N):
                totals[i, j] += values_a[i] * values_b[j]


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((TILE_K, ROW_A), float32, alignment=16)  # transposed
    tile_b = cuda.shared.array((TILE_K, TILE_N), float32, alignment=16)
    totals = cuda.local.array((THREAD_M, THREAD_N), float32)
    for i in range(THREAD_M):
        for j in range(THREAD_N):
            totals[i, j] = 0

    thread = uint32(cuda.threadIdx.x)
    tile_row, tile_col = uint32(cuda.blockIdx.y) * TILE_M, uint32(cuda.blockIdx.x) * TILE_N
    # Within the tiles: the first of the four cells that this thread loads, and its first result.
    a_row, a_col = thread // 2, thread % 2 * 4
    b_row, b_col = thread // 32, thread % 32 * 4
    # TODO: where do this thread's first four columns begin? (1 line)
    row, col = thread // THREAD_COLS * THREAD_M, thread % THREAD_COLS * THREAD_N

    for k0 in range(0, a.shape[1], TILE_K):
        four = load4_or_zeros(a, tile_row + a_row, k0 + a_col)
        for i in range(4):
            tile_a[a_col + i, a_row] = four[i]
        store4(tile_b, (b_row, b_col), load4_or_zeros(b, k0 + b_row, tile_col + b_col))
        cuda.syncthreads()  # the tiles are complete
        multiply(tile_a, tile_b, row, col, totals)
        cuda.syncthreads()  # nobody reloads while others still read

    for i in range(THREAD_M):
        for j in range(0, THREAD_N, 4):
            y, x = tile_row + row + i, tile_col + col + j // 4 * HALF_N
            if y < c.shape[0] and x < c.shape[1]:
                store4(c, (y, x), (totals[i, j], totals[i, j + 1], totals[i, j + 2], totals[i, j + 3]))


def run(buffers, stream):
    a, b, c = buffers["a"], buffers["b"], buffers["c"]
    grid = ceil_div(c.shape[1], TILE_N), ceil_div(c.shape[0], TILE_M)
    # Rows that start off a 16-byte boundary cannot be read 16 bytes at a time.
    chosen = kernel if rows_aligned(a, b, c) else scalar_kernel
    chosen[grid, THREADS, stream](a, b, c)
