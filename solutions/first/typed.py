"""A kernel that does not compile: read what the compiler says, twice.

Computes: out[i] = a[i] where a[i] > 0, else a[i] * slope; slope is 1/4 in even blocks, 1/8 in odd ones; a and out (n,) float32
Launch:   grid ceil(n/32), block 32
Mend:     two lines that the compiler refuses; the slopes stay in shared memory

Answer: a kernel is compiled once, for the types of its arguments and for all blocks, and what is compiled has no memory to
ask for. The size of a shared array is part of the code, so it is a number or a global, never a value such as cuda.blockDim.x.
And a * slope of a whole array would need a new array for the result: a kernel has none, and no thread should compute all
cells; each takes its own.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 32


@cuda.jit
def kernel(a, out):
    # planted
    slopes = cuda.shared.array(THREADS, float32)
    # instead
    #- slopes = cuda.shared.array(cuda.blockDim.x, float32)
    # end planted
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    slopes[x] = float32(0.25) if cuda.blockIdx.x % 2 == 0 else float32(0.125)
    if i < out.shape[0]:
        # planted
        scaled = a[i] * slopes[x]
        # instead
        #- scaled = (a * slopes[x])[i]
        # end planted
        out[i] = a[i] if a[i] > float32(0) else scaled


def run(buffers, stream):
    a, out = buffers["a"], buffers["out"]
    kernel[ceil_div(out.shape[0], THREADS), THREADS, stream](a, out)
