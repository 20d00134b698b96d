# Exercise first/blocks: complete this file, then run  ./ladder exercise check first/blocks
"""What cuda.grid(1) does, and how many blocks it takes.

Computes: out[i] = a[i] * a[i]; a and out (n,) float32, any n >= 1
Launch:   block 32; how many blocks is for you to say
Given:    the guard
Write:    i from cuda.blockIdx.x, cuda.blockDim.x and cuda.threadIdx.x, without cuda.grid; in run, the number of blocks
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    # TODO: the number of this thread in the whole grid (1 line)
    i = cuda.threadIdx.x
    if i < out.shape[0]:
        out[i] = a[i] * a[i]


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    # TODO: as many blocks as it takes to have a thread for each cell; ceil_div(a, b) divides and rounds up (1 line)
    blocks = 1
    kernel[blocks, THREADS, stream](a, out)
