"""Two arrays go in, their difference comes out.

Computes: out[i] = a[i] - b[i]; a, b and out (n,) float32, any n >= 1
Launch:   grid ceil(n/32), block 32
Given:    the guard
Write:    the thread's number in the whole grid, and the subtraction

Answer: the order of the two arrays in the kernel's parameters is that of the launch in run; names do not matter there. Reads
and writes need no care for other threads, as each cell belongs to one thread.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, b, out):
    # gap: the number of this thread in the whole grid, not in its block | 1 line
    i = cuda.grid(1)
    # instead
    #- i = 0
    # end gap
    if i < out.shape[0]:
        # gap: subtract cell i of b from cell i of a | 1 line
        out[i] = a[i] - b[i]
        # end gap


def run(buffers, stream):
    out = buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](buffers["a"], buffers["b"], out)
