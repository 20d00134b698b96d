"""Codes become floats in memory, then floats are multiplied.

Computes:   C[m, n] = scale_a[m] scale_b[n] (sum over k of A[m, k] * B[n, k]) + bias[n]; int8 to float32, any m n, k <= 131071
Launch:     twice grid (ceil(k/32), ceil(rows/8)), block (32, 8); then grid (ceil(n/32), ceil(m/32)), block (32, 32); 0 B shared
Cost:       2mnk FLOP; asks for 5k(m + n) + 8mnk + 4mn B of loads and 4k(m + n) + 4mn B of stores
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Cost, ceil_div

SIDE, ROWS = 32, 8


@cuda.jit
def dequantise(codes, scales, values):
    col, row = cuda.grid(2)
    if row < codes.shape[0] and col < codes.shape[1]:
        values[row, col] = float32(codes[row, col]) * scales[row]


@cuda.jit
def multiply(a, b, bias, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[col, i]
        c[row, col] = total + bias[col]


def run(buffers, stream):
    c = buffers["c"]
    for name in ("a", "b"):
        codes = buffers[name]
        grid = max(1, ceil_div(codes.shape[1], SIDE)), ceil_div(codes.shape[0], ROWS)
        dequantise[grid, (SIDE, ROWS), stream](codes, buffers[f"scale_{name}"], buffers[f"float_{name}"])
    grid = ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)
    multiply[grid, (SIDE, SIDE), stream](buffers["float_a"], buffers["float_b"], buffers["bias"], c)


def scratch(case: Case, inputs):
    return {f"float_{name}": (inputs[name].shape, "float32") for name in ("a", "b")}


def cost(case: Case) -> Cost:
    m, n, k = case["m"], case["n"], case["k"]
    return Cost(
        flops=2 * m * n * k,
        load_bytes=5 * k * (m + n) + 8 * m * n * k + 4 * m * n,
        store_bytes=4 * k * (m + n) + 4 * m * n,
    )


CLAIMS = ()
