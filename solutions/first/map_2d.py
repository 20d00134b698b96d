"""One thread per cell of a matrix.

Computes: out[row, col] = 3 * a[row, col]; a and out (rows, columns) float32, any shape
Launch:   block (16, 4): 16 threads along x, which walk along the columns, and 4 along y; the grid covers the matrix
Write:    all of the kernel; cuda.grid(2) gives the pair x, y

Answer: cuda.grid(2) returns x first, and x is the column: neighbouring threads take neighbouring cells of one row. Both axes
need a guard: a thread past the last column, but in a row that exists, would write into the next row.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, out):
    # gap: find this thread's column and row, and triple that cell, if there is one | 3 lines
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = 3 * a[row, col]
    # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    rows, columns = out.shape
    grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])
    kernel[grid, BLOCK, stream](a, out)
