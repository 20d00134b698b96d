# Exercise first/grid_stride: complete this file, then run  ./ladder exercise check first/grid_stride
"""Few threads, many cells: each thread goes through the array in strides.

Computes: out[i] = 1 - a[i]; a and out (n,) float32, any n >= 1
Launch:   grid 3, block 32, whatever n is: 96 threads
Write:    all of the kernel; cuda.gridsize(1) is the number of threads in the whole grid
"""

from __future__ import annotations

from numba import cuda

BLOCKS, THREADS = 3, 32


@cuda.jit
def kernel(a, out):
    # TODO: go from this thread's number to the end of out, in strides of the whole grid (2 lines)
    pass


def run(buffers, stream):
    kernel[BLOCKS, THREADS, stream](buffers["a"], buffers["out"])
