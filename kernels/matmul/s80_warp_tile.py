"""A warp computes 64 x 64 cells, and each of its threads 8 x 16.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/128), ceil(m/128)), block 128, 8320 B shared; register_2d's kernel unless 4 divides k and n
Cost:       2mnk FLOP; asks for 4k (m ceil(n/128) + n ceil(m/128)) B of loads and 4mn B of stores
Changed:    from bank_free: 4 warps of 64 x 64 instead of 8 warps of 16 x 128; 128 results per thread
Why faster: 128 multiply-adds take 6 shared loads of 16 B instead of 8, in 24 wavefronts instead of 32
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 10; CUTLASS documentation, Efficient GEMM in CUDA
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
    tile_a = cuda.shared.array((TILE_K, ROW_A), float32, alignment=16)  # transposed
    tile_b = cuda.shared.array((TILE_K, TILE_N), float32, alignment=16)
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
    # gap: 2 x 2 warps, and 8 x 4 threads in each, 4 x 4 cells apart | 1 line
    row, col = warp // 2 * WARP_M + lane // 4 * 4, warp % 2 * WARP_N + lane % 4 * 4
    # instead
    #- row, col = warp, lane
    # end gap

    for k0 in range(0, a.shape[1], TILE_K):
        for part in range(2):
            y = a_row + part * HALF_M
            four = load4_or_zeros(a, tile_row + y, k0 + a_col)
            for i in range(4):
                tile_a[a_col + i, y] = four[i]
            y = b_row + part * HALF_K
            store4(tile_b, (y, b_col), load4_or_zeros(b, k0 + y, tile_col + b_col))
        cuda.syncthreads()  # the tiles are complete
        multiply(tile_a, tile_b, row, col, totals)
        cuda.syncthreads()  # nobody reloads while others still read

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


CASE = Case(m=128, n=128, k=64)
CLAIMS = (
    # 64 values of k, loads of A and B: 8 warps, 2 + 2; then 4 warps, 2 + 4
    Claim("simt__shared_requests_op_ld", before=8 * 64 * (2 + 2), after=4 * 64 * (2 + 4), case=CASE),
    # a wavefront brings 16 B to each of 8 threads: 4 per load
    Claim(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        before=8 * 64 * (2 + 2) * 4,
        after=4 * 64 * (2 + 4) * 4,
        case=CASE,
    ),
)
