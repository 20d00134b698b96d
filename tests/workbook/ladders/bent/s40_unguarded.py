"""Threads past the last row store, too.

Computes:   C = 2 A in float32
Launch:     grid (ceil(columns/32), ceil(rows/8)), block (32, 8), 0 B shared
Cost:       1 FLOP per cell
Changed:    from unfinished: the guard
Why faster: it is not
Source:     ours
"""

from numba import cuda

from kernels.case import Cost, ceil_div

CLAIMS = ()


@cuda.jit
def kernel(a, c):
    col, row = cuda.grid(2)
    if col < c.shape[1]:
        c[row, col] = a[row, col] + a[row, col]


def run(buffers, stream):
    rows, columns = buffers["c"].shape
    grid = ceil_div(columns, 32), ceil_div(rows, 8)
    kernel[grid, (32, 8), stream](buffers["a"], buffers["c"])


def cost(case):
    cells = case["rows"] * case["columns"]
    return Cost(cells, 4 * cells, 4 * cells)
