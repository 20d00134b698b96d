"""Weights become floats in registers: what is loaded is one byte each.

Computes:   y[b, n] = sum over k of x[b, k] * codes[n, k] * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/128), b), block 128, 0 B shared
Cost:       2bnk FLOP; asks for bn (5k + 4 ceil(k/128)) B of loads and 4bn B of stores
Changed:    from dequantise: a group's sum of x * code is taken first, and scaled once
Why faster: a weight is one byte read once for each row of x, instead of 1 B read, 4 B written, and 4 B read
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.quant.dequant_gemv.weights import GROUP

THREADS = 128


@cuda.jit
def kernel(x, codes, scales, y):
    row, batch = cuda.grid(2)
    if row < codes.shape[0]:
        total = float32(0)
        for group in range(scales.shape[1]):
            first = group * GROUP
            part = float32(0)
            # gap: sum the group, whose weights share a scale | 3 lines
            for i in range(first, min(first + GROUP, codes.shape[1])):
                part += x[batch, i] * float32(codes[row, i])
            total += part * scales[row, group]
            # end gap
        y[batch, row] = total


def run(buffers, stream):
    x, codes, scales, y = (buffers[name] for name in ("x", "codes", "scales", "y"))
    kernel[(ceil_div(y.shape[1], THREADS), y.shape[0]), THREADS, stream](x, codes, scales, y)


def cost(case: Case) -> Cost:
    b, n, k = case["b"], case["n"], case["k"]
    return Cost(flops=2 * b * n * k, load_bytes=b * n * (5 * k + 4 * ceil_div(k, GROUP)), store_bytes=4 * b * n)


CASE = Case(b=1, n=128, k=256)
CLAIMS = (
    # bytes of x and of the weights: 5 to make floats, 8 to multiply; then 5, and a scale for each of two groups
    Claim("simt__global_bytes_requested_op_ld", before=13 * 128 * 256, after=128 * (5 * 256 + 4 * 2), case=CASE),
    # floats and y; then y
    Claim("simt__global_bytes_requested_op_st", before=4 * 128 * 256 + 4 * 128, after=4 * 128, case=CASE),
    # sectors of different blocks: 16 x 8 blocks of 8 rows read 8 of codes and 2 of scales, one more reads 32 of x and 32 of
    # floats for each row; then 32 of x, 8 of codes for each row, and 32 of scales
    Claim(
        "simt__block_sectors_op_ld",
        before=16 * 8 * (8 + 2) + 32 + 128 * 32,
        after=32 + 128 * 8 + 32,
        case=CASE,
    ),
)
