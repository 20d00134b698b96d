# Exercise first/broadcast: complete this file, then run  ./ladder exercise check first/broadcast
"""A column minus a row makes a matrix.

Computes: out[row, col] = a[row] - b[col]; a (rows,), b (columns,), out (rows, columns) float32, any shape
Launch:   block (16, 4): x walks along the columns; the grid covers out
Write:    all of the kernel
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, b, out):
    # TODO: find this thread's cell of out, and fill it, if there is one (3 lines)
    pass


def run(buffers, stream):
    out = buffers["out"]
    rows, columns = out.shape
    grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])
    kernel[grid, BLOCK, stream](buffers["a"], buffers["b"], out)
