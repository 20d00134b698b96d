"""One block for each row of a matrix.

Computes: out[row] = sum of the cells of a row; a (rows, columns), out (rows,) float32, any shape
Launch:   grid rows, block 64, whatever the number of columns is
Given:    the rounds that add up the 64 sums of a block's threads
Write:    which row is this block's, each thread's own sum over columns x, x + 64, x + 128 and so on, and the store

Answer: the block's number is the row. A loop in strides of the block serves rows that are shorter and longer than 64: a
thread without a column adds nothing and still puts its 0 into the tile, which the rounds read.
"""

from __future__ import annotations

from numba import cuda, float32

THREADS = 64


@cuda.jit
def kernel(a, out):
    tile = cuda.shared.array(THREADS, float32)
    x = cuda.threadIdx.x
    total = float32(0)
    # gap: add every 64th cell of this block's row, from column x on | 3 lines
    row = cuda.blockIdx.x
    for col in range(x, a.shape[1], THREADS):
        total += a[row, col]
    # end gap
    tile[x] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if x < step:
            tile[x] += tile[x + step]
        cuda.syncthreads()
        step //= 2
    # gap: one thread stores the sum of the row | 2 lines
    if x == 0:
        out[row] = tile[0]
    # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[a.shape[0], THREADS, stream](a, out)
