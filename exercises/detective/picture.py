# Exercise detective/picture: mend this file, then run  ./ladder exercise check detective/picture
"""A kernel that works on square pictures only.

Computes: out[row, col] = 1 - a[row, col], a negative; a and out (rows, columns) float32, any shape
Launch:   block (16, 4): 16 threads along x, 4 along y; the grid covers the picture
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = 1 - a[row, col]


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    columns, rows = out.shape
    grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])
    kernel[grid, BLOCK, stream](a, out)
