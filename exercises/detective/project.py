# Exercise detective/project: mend this file, then run  ./ladder exercise check detective/project
"""A matrix times a vector, and every result is a little off.

Computes: out[row] = sum over col of a[row, col] * v[col]; a (rows, columns), v (columns,), out (rows,) float32, any shape
Launch:   grid ceil(rows/32), block 32: one thread for each row
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, v, out):
    row = cuda.grid(1)
    if row < out.shape[0]:
        total = float32(0)
        for col in range(a.shape[1] - 1):
            total += a[row, col] * v[col]
        out[row] = total


def run(buffers, stream):
    out = buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](buffers["a"], buffers["v"], out)
