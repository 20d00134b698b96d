"""Right results, many times slower than need be.

Computes: out[row] = sum over col of |a[row, col]|; a (rows, columns), out (rows,) float32, any shape
Launch:   grid ceil(rows/32), block 32: one thread for each row
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code

Answer: the check names the line that adds in float64. Nothing there says so: the reason is the variable that it adds to,
which begins as 0.0, and a Python number with a point is a float64. A variable has one type, float64 and float32 together make
float64, and so the whole sum is done in it. Most GPUs have few units for float64: 1/32 to 1/64 of the speed.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    row = cuda.grid(1)
    if row < out.shape[0]:
        # planted
        total = float32(0)
        # instead
        #- total = 0.0
        # end planted
        for col in range(a.shape[1]):
            total += abs(a[row, col])
        out[row] = total


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
