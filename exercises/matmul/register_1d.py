# Exercise matmul/register_1d: complete this file, then run  ./ladder exercise check matmul/register_1d
"""Each thread computes 8 cells of a column, in registers.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/64), ceil(m/64)), block 512, 4 KiB shared
Cost:       2mnk FLOP; asks for 4k (m ceil(n/64) + n ceil(m/64)) B of loads and 4mn B of stores
Why faster: 8 multiply-adds take 9 loads from shared memory instead of 16: a value of B serves all 8
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 4
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from kernels.case import ceil_div

TILE_M, TILE_N, TILE_K = 64, 64, 8
THREAD_M = 8  # results per thread, one below the other
THREADS = TILE_M * TILE_N // THREAD_M


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((TILE_M, TILE_K), float32)
    tile_b = cuda.shared.array((TILE_K, TILE_N), float32)
    totals = cuda.local.array(THREAD_M, float32)  # constant indices only, so they live in registers
    for i in range(THREAD_M):
        totals[i] = 0

    # Unsigned, so that Numba has no negative index to look out for: fewer instructions, fewer registers.
    thread = uint32(cuda.threadIdx.x)
    tile_row, tile_col = uint32(cuda.blockIdx.y) * TILE_M, uint32(cuda.blockIdx.x) * TILE_N
    # Within the tiles: the cells that this thread loads, and its first result.
    a_row, a_col = thread // TILE_K, thread % TILE_K
    b_row, b_col = thread // TILE_N, thread % TILE_N
    row, col = thread // TILE_N * THREAD_M, thread % TILE_N

    for k0 in range(0, a.shape[1], TILE_K):
        inside_a = tile_row + a_row < a.shape[0] and k0 + a_col < a.shape[1]
        inside_b = k0 + b_row < b.shape[0] and tile_col + b_col < b.shape[1]
        tile_a[a_row, a_col] = a[tile_row + a_row, k0 + a_col] if inside_a else float32(0)
        tile_b[b_row, b_col] = b[k0 + b_row, tile_col + b_col] if inside_b else float32(0)
        cuda.syncthreads()  # the tiles are complete
        # TODO: add the products to all totals, with one load of B for each i (4 lines)
        pass
        cuda.syncthreads()  # nobody reloads while others still read

    for i in range(THREAD_M):
        if tile_row + row + i < c.shape[0] and tile_col + col < c.shape[1]:
            c[tile_row + row + i, tile_col + col] = totals[i]


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[1], TILE_N), ceil_div(c.shape[0], TILE_M)
    kernel[grid, THREADS, stream](buffers["a"], buffers["b"], c)
