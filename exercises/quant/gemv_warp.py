# Exercise quant/gemv_warp: complete this file, then run  ./ladder exercise check quant/gemv_warp
"""A warp sums a row: its lanes take neighbouring bytes, and add up what they have by shuffles.

Computes:   y[b, n] = sum over k of x[b, k] * packed[n, k / 2].nibble(k % 2) * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/4), b), block 128, 0 B shared
Cost:       2bnk FLOP; asks for bn (4k + 5 ceil(k/2)) B of loads and 4bn B of stores
Why faster: a load of weights takes 1 sector instead of 32; that the scale is loaded with every byte costs one sector more
Source:     CUDA C++ Programming Guide, Warp Shuffle Functions
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div
from kernels.quant.dequant_gemv.s30_int4 import high, low
from kernels.quant.dequant_gemv.weights import GROUP

WARPS = 4  # and rows, in a block
WARP = 32
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    # Lane 0 has the sum of all lanes.
    # TODO: add what the lane 16 further on has, then 8, 4, 2 and 1 (2 lines)
    pass
    return value


@cuda.jit
def kernel(x, packed, scales, y):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    row, batch = cuda.blockIdx.x * WARPS + warp, cuda.blockIdx.y
    k = x.shape[1]
    if row < packed.shape[0]:  # the same for all lanes of a warp, so that all take part in the shuffles
        total = float32(0)
        # TODO: sum the bytes of this lane, so that neighbouring lanes load neighbours (6 lines)
        pass
        total = warp_sum(total)
        if lane == 0:
            y[batch, row] = total


def launch(x, packed, scales, y, stream):
    kernel[(ceil_div(y.shape[1], WARPS), y.shape[0]), WARPS * WARP, stream](x, packed, scales, y)


def run(buffers, stream):
    x, packed, scales, y = (buffers[name] for name in ("x", "packed", "scales", "y"))
    launch(x, packed, scales, y, stream)
