# Exercise first/blocks_2d: complete this file, then run  ./ladder exercise check first/blocks_2d
"""A mirror: each row of a picture from right to left.

Computes: out[row, col] = a[row, columns - 1 - col]; a and out (rows, columns) float32, any shape
Launch:   block (16, 4): x walks along the columns, y along the rows; the grid is for you to say
Write:    the kernel without cuda.grid, and the grid in run: a pair, blocks along x first
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, out):
    # TODO: column and row from blockIdx, blockDim and threadIdx; fill that cell, if there is one (4 lines)
    pass


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    rows, columns = out.shape
    # TODO: how many blocks along x and along y cover the picture (1 line)
    grid = 1, 1
    kernel[grid, BLOCK, stream](a, out)
