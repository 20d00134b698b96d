"""A column minus a row makes a matrix.

Computes: out[row, col] = a[row] - b[col]; a (rows,), b (columns,), out (rows, columns) float32, any shape
Launch:   block (16, 4): x walks along the columns; the grid covers out
Write:    all of the kernel

Answer: a has one number for each row, b one for each column, as a[:, None] - b[None, :] in NumPy. With a square out, swapped
indices would read legal cells and give the transpose; with any other shape one of them runs past its array.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, b, out):
    # gap: find this thread's cell of out, and fill it, if there is one | 3 lines
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = a[row] - b[col]
    # end gap


def run(buffers, stream):
    out = buffers["out"]
    rows, columns = out.shape
    grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])
    kernel[grid, BLOCK, stream](buffers["a"], buffers["b"], out)
