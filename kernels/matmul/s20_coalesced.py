"""Consecutive threads take consecutive columns.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 0 B shared
Cost:       2mnk FLOP; asks for 8mnk B of loads and 4mn B of stores, before caches
Changed:    from naive: x walks columns, y walks rows
Why faster: per warp and k, 33 sectors (32 B) of loads become 5: B's row is read in one piece, A's cell by all
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 2
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Claim, Cost, ceil_div

SIDE = 32


@cuda.jit
def kernel(a, b, c):
    # gap: give consecutive threads consecutive columns | 1 line
    col, row = cuda.grid(2)
    # instead
    #- row, col = cuda.grid(2)
    # end gap
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def run(buffers, stream):
    c = buffers["c"]
    # gap: then columns are the x of the grid | 1 line
    grid = ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)
    # instead
    #- grid = ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)
    # end gap
    kernel[grid, (SIDE, SIDE), stream](buffers["a"], buffers["b"], c)


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    return Cost(flops=2 * m * n * k, load_bytes=8 * m * n * k, store_bytes=4 * m * n)


CLAIMS = (
    # 128 warps, 64 values of k: 32 rows of A and 1 piece of B; then 1 cell of A and 128 B of B
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        before=128 * 64 * (32 + 1),
        after=128 * 64 * (1 + 4),
        case=Case(m=64, n=64, k=64),
    ),
    # a store of 32 rows of C; then 128 B of one row
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        before=128 * 32,
        after=128 * 4,
        case=Case(m=64, n=64, k=64),
    ),
)
