"""The block shares one tile of A and one of B at a time.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 8 KiB shared
Cost:       2mnk FLOP; asks for 4k (m ceil(n/32) + n ceil(m/32)) B of loads and 4mn B of stores
Changed:    from coalesced: the loop over k goes tile by tile through shared memory, between two barriers
Why faster: a value that 32 threads need is loaded from global memory once for all of them: 1/32 of the load requests
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 3; CUDA C++ Programming Guide, Shared Memory
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Claim, Cost, ceil_div

TILE = 32


@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k0 in range(0, a.shape[1], TILE):
        # gap: load one cell of each tile, 0 past the edges, then wait | 5 lines
        # Zeros past the edges add nothing, so the inner loop needs no guard.
        inside_a = row < a.shape[0] and k0 + x < a.shape[1]
        inside_b = k0 + y < b.shape[0] and col < b.shape[1]
        tile_a[y, x] = a[row, k0 + x] if inside_a else float32(0)
        tile_b[y, x] = b[k0 + y, col] if inside_b else float32(0)
        cuda.syncthreads()  # the tiles are complete
        # end gap
        # gap: add the products of a row of one tile and a column of the other, then wait | 3 lines
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()  # nobody reloads while others still read
        # end gap
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[1], TILE), ceil_div(c.shape[0], TILE)
    kernel[grid, (TILE, TILE), stream](buffers["a"], buffers["b"], c)


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    # Every block column reads all of A, every block row all of B.
    loads = m * k * ceil_div(n, TILE) + k * n * ceil_div(m, TILE)
    return Cost(flops=2 * m * n * k, load_bytes=4 * loads, store_bytes=4 * m * n)


CLAIMS = (
    # 128 warps: 2 loads for each of 64 values of k; then 2 for each of 2 tiles
    Claim(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        before=128 * 64 * 2,
        after=128 * 2 * 2,
        case=Case(m=64, n=64, k=64),
    ),
    # sectors: 1 of A and 4 of B per load; then 4 for each
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        before=128 * 64 * (1 + 4),
        after=128 * 2 * (4 + 4),
        case=Case(m=64, n=64, k=64),
    ),
)
