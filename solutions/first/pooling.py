"""A window that looks back: the sum of a cell and the two before it.

Computes: out[i] = a[i] + a[i - 1] + a[i - 2], of which cells before the first do not count; a and out (n,) float32, any n >= 1
Launch:   grid ceil(n/32), block 32
Given:    the guard, and a sum to add to
Write:    the loop over the window

Answer: a[-1] is no error: as in Python, a negative index counts from the end, so without the comparison cell 0 would add the
last two cells of the array. Between blocks there is nothing to do, as every thread may read all of a.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32
WINDOW = 3


@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        total = float32(0)
        # gap: add the cells of the window, as far as they exist | 3 lines
        for back in range(WINDOW):
            if i >= back:
                total += a[i - back]
        # end gap
        out[i] = total


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
