# Exercise detective/smooth: mend this file, then run  ./ladder exercise check detective/smooth
"""A smoothing kernel whose results depend on the order in which warps run.

Computes: out[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) / 4, where cells outside of a count as 0; a and out (n,) float32, any n >= 1
Launch:   grid ceil(n/64), block 64: two warps. The tile has the block's 64 cells and one more on each side
Mend:     the one bug in this file. Let the check say what goes wrong before you read the code
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 64
TILE = THREADS + 2


@cuda.jit
def load(a, i):
    return a[i] if 0 <= i < a.shape[0] else float32(0)


@cuda.jit
def kernel(a, out):
    tile = cuda.shared.array(TILE, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[x + 1] = load(a, i)
    if x == 0:
        tile[0] = load(a, i - 1)
    if x == THREADS - 1:
        tile[TILE - 1] = load(a, i + 1)
    if i < out.shape[0]:
        out[i] = float32(0.25) * (tile[x] + float32(2) * tile[x + 1] + tile[x + 2])


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
