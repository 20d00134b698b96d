# Exercise matmul/register_2d: complete this file, then run  ./ladder exercise check matmul/register_2d
"""Each thread computes 8 x 8 cells, in registers.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/128), ceil(m/128)), block 256, 8 KiB shared
Cost:       2mnk FLOP; asks for 4k (m ceil(n/128) + n ceil(m/128)) B of loads and 4mn B of stores
Why faster: 64 multiply-adds take 16 loads from shared memory instead of 72, and global memory is asked for half
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 5
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from kernels.case import ceil_div

TILE_M, TILE_N, TILE_K = 128, 128, 8
THREAD_M, THREAD_N = 8, 8  # results per thread
THREAD_COLS = TILE_N // THREAD_N
THREADS = TILE_M // THREAD_M * THREAD_COLS
A_ROWS, B_ROWS = THREADS // TILE_K, THREADS // TILE_N  # rows of a tile that the block loads at once
LOADS = TILE_M // A_ROWS  # for either tile


@cuda.jit(device=True)
def multiply(tile_a, tile_b, row, col, totals):
    # Loops with constant bounds unroll, so all indices of local arrays are constants and the arrays live in registers.
    values_a = cuda.local.array(THREAD_M, float32)
    values_b = cuda.local.array(THREAD_N, float32)
    # TODO: for each k, load 8 values of A and 8 of B, then do all 64 products (8 lines)
    pass


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((TILE_M, TILE_K), float32)
    tile_b = cuda.shared.array((TILE_K, TILE_N), float32)
    totals = cuda.local.array((THREAD_M, THREAD_N), float32)
    for i in range(THREAD_M):
        for j in range(THREAD_N):
            totals[i, j] = 0

    thread = uint32(cuda.threadIdx.x)
    tile_row, tile_col = uint32(cuda.blockIdx.y) * TILE_M, uint32(cuda.blockIdx.x) * TILE_N
    # Within the tiles: the first cells that this thread loads, and its first result.
    a_row, a_col = thread // TILE_K, thread % TILE_K
    b_row, b_col = thread // TILE_N, thread % TILE_N
    row, col = thread // THREAD_COLS * THREAD_M, thread % THREAD_COLS * THREAD_N

    for k0 in range(0, a.shape[1], TILE_K):
        for i in range(LOADS):
            y, x = a_row + i * A_ROWS, k0 + a_col
            inside = tile_row + y < a.shape[0] and x < a.shape[1]
            tile_a[y, a_col] = a[tile_row + y, x] if inside else float32(0)
            y, x = b_row + i * B_ROWS, tile_col + b_col
            inside = k0 + y < b.shape[0] and x < b.shape[1]
            tile_b[y, b_col] = b[k0 + y, x] if inside else float32(0)
        cuda.syncthreads()  # the tiles are complete
        multiply(tile_a, tile_b, row, col, totals)
        cuda.syncthreads()  # nobody reloads while others still read

    for i in range(THREAD_M):
        for j in range(THREAD_N):
            if tile_row + row + i < c.shape[0] and tile_col + col + j < c.shape[1]:
                c[tile_row + row + i, tile_col + col + j] = totals[i, j]


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[1], TILE_N), ceil_div(c.shape[0], TILE_M)
    kernel[grid, THREADS, stream](buffers["a"], buffers["b"], c)
