# Exercise quant/gemv_int4: complete this file, then run  ./ladder exercise check quant/gemv_int4
"""Two weights to a byte.

Computes:   y[b, n] = sum over k of x[b, k] * packed[n, k / 2].nibble(k % 2) * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/128), b), block 128, 0 B shared
Cost:       2bnk FLOP; asks for bn (4k + ceil(k/2) + 4 ceil(k/128)) B of loads and 4bn B of stores
Why faster: half the bytes of weights, and half the loads for them
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32, int8

from kernels.case import ceil_div
from kernels.quant.dequant_gemv.weights import GROUP

THREADS = 128


@cuda.jit(device=True)
def low(pair):
    # TODO: the code in the lower four bits, with its sign (1 line)
    return float32(0)


@cuda.jit(device=True)
def high(pair):
    # TODO: the code in the upper four bits, with its sign (1 line)
    return float32(0)


@cuda.jit
def kernel(x, packed, scales, y):
    row, batch = cuda.grid(2)
    k = x.shape[1]
    if row < packed.shape[0]:
        total = float32(0)
        for group in range(scales.shape[1]):
            first = group * GROUP
            part = float32(0)
            for i in range(first, min(first + GROUP, k), 2):
                # TODO: one byte, two products; the last byte of a row may hold one (4 lines)
                pass
            total += part * scales[row, group]
        y[batch, row] = total


def run(buffers, stream):
    x, packed, scales, y = (buffers[name] for name in ("x", "packed", "scales", "y"))
    kernel[(ceil_div(y.shape[1], THREADS), y.shape[0]), THREADS, stream](x, packed, scales, y)
