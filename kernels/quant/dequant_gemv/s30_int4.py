"""Two weights to a byte.

Computes:   y[b, n] = sum over k of x[b, k] * packed[n, k / 2].nibble(k % 2) * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/128), b), block 128, 0 B shared
Cost:       2bnk FLOP; asks for bn (4k + ceil(k/2) + 4 ceil(k/128)) B of loads and 4bn B of stores
Changed:    from fused_int8: packed bytes instead of codes; even k in the low nibble, odd k in the high one
Why faster: half the bytes of weights, and half the loads for them
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32, int8

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.quant.dequant_gemv.weights import GROUP

THREADS = 128


@cuda.jit(device=True)
def low(pair):
    # gap: the code in the lower four bits, with its sign | 1 line
    # Two's complement of 4 bits: 8 to 15 mean -8 to -1.
    return float32(((pair & 15) ^ 8) - 8)
    # instead
    #- return float32(0)
    # end gap


@cuda.jit(device=True)
def high(pair):
    # gap: the code in the upper four bits, with its sign | 1 line
    # As int8 the byte has the sign of its high nibble, and a shift to the right keeps it.
    return float32(int8(pair) >> 4)
    # instead
    #- return float32(0)
    # end gap


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
                # gap: one byte, two products; the last byte of a row may hold one | 4 lines
                pair = packed[row, i // 2]
                part += x[batch, i] * low(pair)
                if i + 1 < k:
                    part += x[batch, i + 1] * high(pair)
                # end gap
            total += part * scales[row, group]
        y[batch, row] = total


def run(buffers, stream):
    x, packed, scales, y = (buffers[name] for name in ("x", "packed", "scales", "y"))
    kernel[(ceil_div(y.shape[1], THREADS), y.shape[0]), THREADS, stream](x, packed, scales, y)


def cost(case: Case) -> Cost:
    b, n, k = case["b"], case["n"], case["k"]
    loads = b * n * (4 * k + ceil_div(k, 2) + 4 * ceil_div(k, GROUP))
    return Cost(flops=2 * b * n * k, load_bytes=loads, store_bytes=4 * b * n)


CASE = Case(b=1, n=128, k=256)
CLAIMS = (
    # bytes of x, of a weight, and of two scales
    Claim(
        "simt__global_bytes_requested_op_ld",
        before=128 * (4 * 256 + 256 + 4 * 2),
        after=128 * (4 * 256 + 128 + 4 * 2),
        case=CASE,
    ),
    # distinct sectors of the block: x, 8 and then 4 sectors for the weights of a row, and scales
    Claim("simt__block_sectors_op_ld", before=32 + 128 * 8 + 32, after=32 + 128 * 4 + 32, case=CASE),
    # 4 warps: 256 loads of x, 256 and then 128 of weights, 2 of scales
    Claim(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        before=4 * (256 + 256 + 2),
        after=4 * (256 + 128 + 2),
        case=CASE,
    ),
)
