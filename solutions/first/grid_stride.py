"""Few threads, many cells: each thread goes through the array in strides.

Computes: out[i] = 1 - a[i]; a and out (n,) float32, any n >= 1
Launch:   grid 3, block 32, whatever n is: 96 threads
Write:    all of the kernel; cuda.gridsize(1) is the number of threads in the whole grid

Answer: thread i takes cells i, i + 96, i + 192 and so on: range counts in strides and is the guard as well. Neighbouring
threads always have neighbouring cells, which a GPU loads together; a piece of n / 96 cells for each thread would compute the
same, with more traffic. The launch no longer depends on the data.
"""

from __future__ import annotations

from numba import cuda

BLOCKS, THREADS = 3, 32


@cuda.jit
def kernel(a, out):
    # gap: go from this thread's number to the end of out, in strides of the whole grid | 2 lines
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[i] = 1 - a[i]
    # end gap


def run(buffers, stream):
    kernel[BLOCKS, THREADS, stream](buffers["a"], buffers["out"])
