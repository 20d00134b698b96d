"""A pair packed into one 64-bit number, so that an atomic maximum can choose between blocks.

Computes:   index of the largest x, the lowest among equals, the first NaN before all; float32, 1 <= n < 2**31
Launch:     one block of one thread for a zero; grid ceil(n/8192), block 256, 64 B shared; one thread to unpack
Cost:       n - 1 comparisons; asks for 4n + 4 B of loads and 16 B of stores; one atomic maximum per block besides
Changed:    from shuffle: an atomic maximum of packed pairs, instead of stored pairs and a second search through them
Why faster: no pairs in global memory. A maximum is the same in any order, unlike a sum of float32: this atomic is
            deterministic. But three launches cost more than two, unless the zero and the last step ride with others
Source:     order-preserving bits of a float: Michael Herf, Radix Tricks; packed into 64 bits, ours
"""

from __future__ import annotations

import math

from numba import cuda, float32, int32, uint32, uint64
from numba.cuda import libdevice

from kernels.case import Arrays, Case, Claim, Cost, Layout, ceil_div
from kernels.reduction.argmax.s10_shared_tree import PER_BLOCK, THREADS, chunk_best
from kernels.reduction.argmax.s20_shuffle import WARPS, block_best

SIGN = uint32(1 << 31)
LOW_HALF = uint32(0xFFFFFFFF)


@cuda.jit(device=True)
def packed(value, index):
    """A uint64 that grows as pairs get better: the value's bits in order, above the index upside down."""
    bits = LOW_HALF  # NaN is above infinity
    if value == 0:
        bits = SIGN  # -0.0 equals 0.0, though its bits do not
    elif not math.isnan(value):
        raw = uint32(libdevice.float_as_int(value))
        # Floats are sign and magnitude: the more negative, the larger the bits.
        bits = uint32(~raw) if raw & SIGN else raw | SIGN
    return uint64(bits) << 32 | uint64(LOW_HALF - uint32(index))


@cuda.jit
def zero(best):
    best[0] = 0  # below every packed pair


@cuda.jit
def kernel(x, best):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    value, index = chunk_best(x)
    value, index = block_best(warp_values, warp_indices, value, index)
    if cuda.threadIdx.x == 0:
        cuda.atomic.max(best, 0, packed(value, index))


@cuda.jit
def unpack(best, result):
    result[0] = LOW_HALF - uint32(best[0])  # of which the compiler loads the low half only


def scratch(case: Case, inputs: Arrays) -> Layout:
    return {"best": ((1,), "uint64")}


def run(buffers, stream):
    x, best = buffers["x"], buffers["best"]
    zero[1, 1, stream](best)
    kernel[ceil_div(x.size, PER_BLOCK), THREADS, stream](x, best)
    unpack[1, 1, stream](best, buffers["index"])


def cost(case: Case) -> Cost:
    return Cost(flops=case["n"] - 1, load_bytes=4 * case["n"] + 4, store_bytes=16)


CASE = Case(n=65536)  # 8 blocks
CLAIMS = (
    # two per block, and the result; then the zero and the result
    Claim("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", before=2 * 8 + 1, after=2, case=CASE),
)
