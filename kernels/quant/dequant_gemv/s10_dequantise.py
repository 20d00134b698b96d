"""Weights become floats in memory; then each thread sums one row of them.

Computes:   y[b, n] = sum over k of x[b, k] * codes[n, k] * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(k/32), ceil(n/8)), block (32, 8); then grid (ceil(n/128), b), block 128; 0 B shared
Cost:       2bnk FLOP; asks for 5nk + 8bnk B of loads and 4nk + 4bn B of stores
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import Case, Cost, ceil_div
from kernels.quant.dequant_gemv.weights import GROUP

COLS, ROWS = 32, 8
THREADS = 128


@cuda.jit
def dequantise(codes, scales, weights):
    col, row = cuda.grid(2)
    if row < codes.shape[0] and col < codes.shape[1]:
        weights[row, col] = float32(codes[row, col]) * scales[row, col // GROUP]


@cuda.jit
def multiply(x, weights, y):
    row, batch = cuda.grid(2)
    if row < weights.shape[0]:
        total = float32(0)
        for i in range(x.shape[1]):
            total += x[batch, i] * weights[row, i]
        y[batch, row] = total


def run(buffers, stream):
    x, codes, scales, y = (buffers[name] for name in ("x", "codes", "scales", "y"))
    grid = max(1, ceil_div(codes.shape[1], COLS)), ceil_div(codes.shape[0], ROWS)
    dequantise[grid, (COLS, ROWS), stream](codes, scales, buffers["weights"])
    multiply[(ceil_div(y.shape[1], THREADS), y.shape[0]), THREADS, stream](x, buffers["weights"], y)


def scratch(case: Case, inputs):
    return {"weights": ((case["n"], case["k"]), "float32")}


def cost(case: Case) -> Cost:
    b, n, k = case["b"], case["n"], case["k"]
    return Cost(flops=2 * b * n * k, load_bytes=5 * n * k + 8 * b * n * k, store_bytes=4 * n * k + 4 * b * n)


CLAIMS = ()
