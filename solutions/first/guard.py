"""More threads than cells: only those that have one may act.

Computes: out[i] = a[i + 1] - a[i], the step from each cell to the next; a (n + 1,) and out (n,) float32, any n >= 1
Launch:   grid ceil(n/32), block 32
Write:    all of the kernel

Nothing on a GPU stops a thread at the end of an array. The check looks at what lies before and behind out.

Answer: out is one cell shorter than a, and the guard compares with the array that is written: where out[i] exists, so does
a[i + 1]. With i < a.shape[0], one thread too many would write behind out, into what is somebody else's memory; a GPU would
not complain, and the damage would show somewhere else.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    # gap: let thread i write cell i of out, if there is one | 3 lines
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a[i + 1] - a[i]
    # end gap


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
