"""Codes are multiplied as they are and summed in int32; the scales come afterwards.

Computes:   C[m, n] = scale_a[m] scale_b[n] (sum over k of A[m, k] * B[n, k]) + bias[n]; int8 to float32, any m n, k <= 131071
Launch:     grid (ceil(n/32), ceil(m/32)), block (32, 32), 0 B shared; then the same grid for the scales
Cost:       2mnk operations; asks for 2mnk + 16mn B of loads and 8mn B of stores
Changed:    from dequantise: the scales leave the sum, as they do not depend on k, so int8 codes are what is loaded
Why faster: a product asks for 2 B instead of 8, and no floats are written first
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32, int32

from kernels.case import Case, Claim, Cost, ceil_div

SIDE = 32


@cuda.jit
def kernel(a, b, sums):
    col, row = cuda.grid(2)
    if row < sums.shape[0] and col < sums.shape[1]:
        total = int32(0)
        # gap: add the products of two rows of codes, as integers | 2 lines
        for i in range(a.shape[1]):
            # int32(): Numba makes the sum of two int32 an int64, which takes two registers and more instructions.
            total = int32(total + int32(a[row, i]) * int32(b[col, i]))
        # end gap
        sums[row, col] = total


@cuda.jit
def scale(sums, scale_a, scale_b, bias, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        # gap: from the sum to the result: a scale of either matrix, and the bias | 1 line
        c[row, col] = float32(sums[row, col]) * (scale_a[row] * scale_b[col]) + bias[col]
        # end gap


def launch_scale(buffers, stream):
    c = buffers["c"]
    grid = ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)
    scale[grid, (SIDE, SIDE), stream](buffers["sums"], buffers["scale_a"], buffers["scale_b"], buffers["bias"], c)


def run(buffers, stream):
    a, b, sums = buffers["a"], buffers["b"], buffers["sums"]
    grid = ceil_div(sums.shape[1], SIDE), ceil_div(sums.shape[0], SIDE)
    kernel[grid, (SIDE, SIDE), stream](a, b, sums)
    launch_scale(buffers, stream)


def scratch(case: Case, inputs):
    return {"sums": ((case["m"], case["n"]), "int32")}


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    return Cost(flops=2 * m * n * k, load_bytes=2 * m * n * k + 16 * m * n, store_bytes=8 * m * n)


CLAIMS = (
    # 128 x 64 codes and their scales, 64**3 pairs of floats and the bias; then pairs of codes, and 16 B to scale each sum
    Claim(
        "simt__global_bytes_requested_op_ld",
        before=5 * 128 * 64 + 8 * 64**3 + 4 * 64**2,
        after=2 * 64**3 + 16 * 64**2,
        case=Case(m=64, n=64, k=64),
    ),
    # 128 x 64 floats and C; then the sums and C
    Claim(
        "simt__global_bytes_requested_op_st",
        before=4 * 128 * 64 + 4 * 64**2,
        after=8 * 64**2,
        case=Case(m=64, n=64, k=64),
    ),
)
