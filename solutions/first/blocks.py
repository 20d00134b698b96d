"""What cuda.grid(1) does, and how many blocks it takes.

Computes: out[i] = a[i] * a[i]; a and out (n,) float32, any n >= 1
Launch:   block 32; how many blocks is for you to say
Given:    the guard
Write:    i from cuda.blockIdx.x, cuda.blockDim.x and cuda.threadIdx.x, without cuda.grid; in run, the number of blocks

Answer: the blocks before this one have blockIdx.x * blockDim.x threads. A number of blocks that is rounded down would leave
out the last cells, unless n is a multiple of 32; ceil_div rounds up, and the guard stops the threads that this makes too
many.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    # gap: the number of this thread in the whole grid | 1 line
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    # instead
    #- i = cuda.threadIdx.x
    # end gap
    if i < out.shape[0]:
        out[i] = a[i] * a[i]


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    # gap: as many blocks as it takes to have a thread for each cell; ceil_div(a, b) divides and rounds up | 1 line
    blocks = ceil_div(out.shape[0], THREADS)
    # instead
    #- blocks = 1
    # end gap
    kernel[blocks, THREADS, stream](a, out)
