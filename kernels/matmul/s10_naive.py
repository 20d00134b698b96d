"""One thread per cell of C, and consecutive threads take consecutive rows.

Computes:   C[m, n] = sum over k of A[m, k] * B[k, n]; float32, C-contiguous, any m n k
Launch:     grid (ceil(m/32), ceil(n/32)), block (32, 32), 0 B shared
Cost:       2mnk FLOP; asks for 8mnk B of loads and 4mn B of stores, before caches
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     Simon Boehm, How to Optimize a CUDA Matmul Kernel, Kernel 1
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Cost, ceil_div

SIDE = 32


@cuda.jit
def kernel(a, b, c):
    # gap: one cell of C per thread; consecutive threads take consecutive rows | 6 lines
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total
    # end gap


def run(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)
    kernel[grid, (SIDE, SIDE), stream](buffers["a"], buffers["b"], c)


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    return Cost(flops=2 * m * n * k, load_bytes=8 * m * n * k, store_bytes=4 * m * n)


CLAIMS = ()
