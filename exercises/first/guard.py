# Exercise first/guard: complete this file, then run  ./ladder exercise check first/guard
"""More threads than cells: only those that have one may act.

Computes: out[i] = a[i + 1] - a[i], the step from each cell to the next; a (n + 1,) and out (n,) float32, any n >= 1
Launch:   grid ceil(n/32), block 32
Write:    all of the kernel

Nothing on a GPU stops a thread at the end of an array. The check looks at what lies before and behind out.
"""

from __future__ import annotations

from numba import cuda

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    # TODO: let thread i write cell i of out, if there is one (3 lines)
    pass


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
