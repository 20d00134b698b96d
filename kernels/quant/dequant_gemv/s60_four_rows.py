"""A warp sums four rows at once, so that x is loaded once for all four.

Computes:   y[b, n] = sum over k of x[b, k] * packed[n, k / 2].nibble(k % 2) * scales[n, k / 128]; b from 1 to 8, any n k
Launch:     grid (ceil(n/16), b), block 128, 0 B shared; warp_per_row's launch unless 32 divides k
Cost:       2bnk FLOP; asks for b (4k ceil(n/4) + n (k/2 + k/8)) B of loads and 4bn B of stores where 32 divides k
Changed:    from vectorised: four rows per warp; words and scales of all four wait in registers while x goes by
Why faster: 1024 weights take 4 loads of a warp instead of 10; those of x, which touch 32 lines each, are a quarter
Source:     ours
"""

from __future__ import annotations

from numba import cuda, float32, int32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.intrinsics import load4, rows_aligned
from kernels.quant.dequant_gemv import s40_warp_per_row
from kernels.quant.dequant_gemv.s40_warp_per_row import WARP, WARPS, warp_sum
from kernels.quant.dequant_gemv.s50_vectorised import CODES, nibble
from kernels.quant.dequant_gemv.weights import GROUP

ROWS = 4  # per warp


@cuda.jit(device=True)
def load_words(packed, row, first, words):
    # Rows past the end have zeros, which add nothing.
    for r in range(ROWS):
        for i in range(4):
            words[r, i] = 0
        if row + r < packed.shape[0]:
            words[r, 0], words[r, 1], words[r, 2], words[r, 3] = load4(packed, (row + r, first // 8))


@cuda.jit(device=True)
def multiply(x, batch, first, words, parts):
    # Loops with constant bounds unroll, so all indices of local arrays are constants and the arrays live in registers.
    for r in range(ROWS):
        parts[r] = 0
    for i in range(4):
        for j in range(0, 8, 4):
            four = load4(x, (batch, first + 8 * i + j))
            for r in range(ROWS):
                for each in range(4):
                    parts[r] += four[each] * nibble(words[r, i], j + each)


@cuda.jit
def kernel(x, packed, scales, y):
    # packed: words of eight codes
    words = cuda.local.array((ROWS, 4), int32)
    parts = cuda.local.array(ROWS, float32)
    totals = cuda.local.array(ROWS, float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    row, batch = (cuda.blockIdx.x * WARPS + warp) * ROWS, cuda.blockIdx.y
    for r in range(ROWS):
        totals[r] = 0
    if row < packed.shape[0]:  # the same for all lanes of a warp, so that all take part in the shuffles
        for first in range(lane * CODES, x.shape[1], WARP * CODES):
            load_words(packed, row, first, words)
            multiply(x, batch, first, words, parts)
            for r in range(ROWS):
                if row + r < packed.shape[0]:
                    totals[r] += parts[r] * scales[row + r, first // GROUP]  # 32 divides 128: one group
        for r in range(ROWS):
            total = warp_sum(totals[r])
            if lane == 0 and row + r < packed.shape[0]:
                y[batch, row + r] = total


def run(buffers, stream):
    x, packed, scales, y = (buffers[name] for name in ("x", "packed", "scales", "y"))
    if x.shape[1] % CODES:
        s40_warp_per_row.launch(x, packed, scales, y, stream)
        return
    packed = packed.view("int32")
    if not rows_aligned(x, packed):
        raise ValueError("16-byte loads need x and the packed weights to start at a multiple of 16 bytes")
    kernel[(ceil_div(y.shape[1], WARPS * ROWS), y.shape[0]), WARPS * WARP, stream](x, packed, scales, y)


def cost(case: Case) -> Cost:
    b, n, k = case["b"], case["n"], case["k"]
    if k % CODES:
        return s40_warp_per_row.cost(case)
    loads = b * (4 * k * ceil_div(n, ROWS) + n * (k // 2 + 4 * k // CODES))
    return Cost(flops=2 * b * n * k, load_bytes=loads, store_bytes=4 * b * n)


CASE = Case(b=1, n=128, k=1024)
CLAIMS = (
    # 128 warps: 1 load of weights, 8 of x and 1 of scales; then 32 warps: 4 of weights, 8 of x and 4 of scales
    Claim(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        before=128 * (1 + 8 + 1),
        after=32 * (4 + 8 + 4),
        case=CASE,
    ),
    # bytes of x for each row; then for every fourth. Weights and scales as before
    Claim(
        "simt__global_bytes_requested_op_ld",
        before=128 * (4 * 1024 + 512 + 128),
        after=32 * 4 * 1024 + 128 * (512 + 128),
        case=CASE,
    ),
)
