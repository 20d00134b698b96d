"""One thread per cell: double every number.

Computes: out[i] = 2 * a[i]; a and out (n,) float32, any n >= 1
Launch:   grid ceil(n/32), block 32: several blocks, and the last one has threads to spare
Given:    i, the thread's number in the whole grid, and the guard that stops the threads which have no cell
Write:    the line that doubles cell i

Answer: all threads run the same lines; i is what tells them apart. It counts through the blocks: thread 3 of block 2 has
i = 2 * 32 + 3. The order in which threads run does not matter, as no two of them touch the same cell.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        # gap: let thread i double cell i | 1 line
        out[i] = 2 * a[i]
        # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
