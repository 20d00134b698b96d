# Exercise detective/level: mend this file, then run  ./ladder exercise check detective/level
"""Right results, many times slower than need be.

Computes: out[row] = sum over col of |a[row, col]|; a (rows, columns), out (rows,) float32, any shape
Launch:   grid ceil(rows/32), block 32: one thread for each row
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    row = cuda.grid(1)
    if row < out.shape[0]:
        total = 0.0
        for col in range(a.shape[1]):
            total += abs(a[row, col])
        out[row] = total


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
