"""A mirror: each row of a picture from right to left.

Computes: out[row, col] = a[row, columns - 1 - col]; a and out (rows, columns) float32, any shape
Launch:   block (16, 4): x walks along the columns, y along the rows; the grid is for you to say
Write:    the kernel without cuda.grid, and the grid in run: a pair, blocks along x first

Answer: shapes name rows first, grids and blocks x first, and x is the column here: the pair changes its order between the
two. A swapped grid covers a square picture as well, which is why no test should have only square ones. The counterpart of
column 0 is columns - 1.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

BLOCK = 16, 4


@cuda.jit
def kernel(a, out):
    # gap: column and row from blockIdx, blockDim and threadIdx; fill that cell, if there is one | 4 lines
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = a[row, out.shape[1] - 1 - col]
    # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    rows, columns = out.shape
    # gap: how many blocks along x and along y cover the picture | 1 line
    grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])
    # instead
    #- grid = 1, 1
    # end gap
    kernel[grid, BLOCK, stream](a, out)
