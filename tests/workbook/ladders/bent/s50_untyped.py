"""Adds a text to a number, which does not compile.

Computes:   C = 2 A in float32
Launch:     grid (ceil(columns/32), ceil(rows/8)), block (32, 8), 0 B shared
Cost:       1 FLOP per cell
Changed:    from unguarded: the sum
Why faster: it is not
Source:     ours
"""

from numba import cuda

from kernels.case import Cost, ceil_div

CLAIMS = ()


@cuda.jit
def kernel(a, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = a[row, col] + "one"


def run(buffers, stream):
    rows, columns = buffers["c"].shape
    grid = ceil_div(columns, 32), ceil_div(rows, 8)
    kernel[grid, (32, 8), stream](buffers["a"], buffers["c"])


def cost(case):
    cells = case["rows"] * case["columns"]
    return Cost(cells, 4 * cells, 4 * cells)
