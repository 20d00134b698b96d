"""A warp sums a row: its lanes take neighbouring bytes, and add up what they have by shuffles.

Computes:   y[b, n] = sum over k of x[b, k] * packed[n, k / 2].nibble(k % 2) * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/4), b), block 128, 0 B shared
Cost:       2bnk FLOP; asks for bn (4k + 5 ceil(k/2)) B of loads and 4bn B of stores
Changed:    from int4: 32 lanes instead of one thread for a row; each weight is scaled on its own
Why faster: a load of weights takes 1 sector instead of 32; that the scale is loaded with every byte costs one sector more
Source:     CUDA C++ Programming Guide, Warp Shuffle Functions
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.quant.dequant_gemv.s30_int4 import high, low
from kernels.quant.dequant_gemv.weights import GROUP

WARPS = 4  # and rows, in a block
WARP = 32
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    # Lane 0 has the sum of all lanes.
    # gap: add what the lane 16 further on has, then 8, 4, 2 and 1 | 2 lines
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(ALL_LANES, value, distance)
    # end gap
    return value


@cuda.jit
def kernel(x, packed, scales, y):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    row, batch = cuda.blockIdx.x * WARPS + warp, cuda.blockIdx.y
    k = x.shape[1]
    if row < packed.shape[0]:  # the same for all lanes of a warp, so that all take part in the shuffles
        total = float32(0)
        # gap: sum the bytes of this lane, so that neighbouring lanes load neighbours | 6 lines
        for i in range(lane, packed.shape[1], WARP):
            pair = packed[row, i]
            part = x[batch, 2 * i] * low(pair)
            if 2 * i + 1 < k:
                part += x[batch, 2 * i + 1] * high(pair)
            total += part * scales[row, 2 * i // GROUP]
        # end gap
        total = warp_sum(total)
        if lane == 0:
            y[batch, row] = total


def launch(x, packed, scales, y, stream):
    kernel[(ceil_div(y.shape[1], WARPS), y.shape[0]), WARPS * WARP, stream](x, packed, scales, y)


def run(buffers, stream):
    x, packed, scales, y = (buffers[name] for name in ("x", "packed", "scales", "y"))
    launch(x, packed, scales, y, stream)


def cost(case: Case) -> Cost:
    b, n, k = case["b"], case["n"], case["k"]
    return Cost(flops=2 * b * n * k, load_bytes=b * n * (4 * k + 5 * ceil_div(k, 2)), store_bytes=4 * b * n)


CASE = Case(b=1, n=128, k=256)
CLAIMS = (
    # 4 warps: 1 sector for each of 256 loads of x, 32 for each of 128 loads of weights, 8 for each of 2 loads of scales;
    # then 128 warps, 4 loads of 32 bytes, each with 8 + 8 sectors of x, 1 of weights and 1 of scales
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        before=4 * (256 + 128 * 32 + 2 * 8),
        after=128 * 4 * (8 + 8 + 1 + 1),
        case=CASE,
    ),
)
