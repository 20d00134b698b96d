# Exercise first/typed: mend this file, then run  ./ladder exercise check first/typed
"""A kernel that does not compile: read what the compiler says, twice.

Computes: out[i] = a[i] where a[i] > 0, else a[i] * slope; slope is 1/4 in even blocks, 1/8 in odd ones; a and out (n,) float32
Launch:   grid ceil(n/32), block 32
Mend:     two lines that the compiler refuses; the slopes stay in shared memory
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    slopes = cuda.shared.array(cuda.blockDim.x, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    slopes[x] = float32(0.25) if cuda.blockIdx.x % 2 == 0 else float32(0.125)
    if i < out.shape[0]:
        scaled = (a * slopes[x])[i]
        out[i] = a[i] if a[i] > float32(0) else scaled


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
