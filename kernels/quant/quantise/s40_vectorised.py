"""A lane loads 16 bytes, four neighbours, and stores their four codes as one 32-bit word.

Computes:   scale[row] = absmax of the row / 127; q[row, col] = rint(x[row, col] / scale[row]), ties to even, in
            [-127, 127]; x float32, C-contiguous, any rows columns; zeros, infinities, NaNs as kernels.quant.formats says
Launch:     grid ceil(rows/8), block 256, 0 B shared; warp_per_row's kernel unless 4 divides columns
Cost:       rows (columns + 1) divisions; asks for 8 rows columns B of loads and rows (columns + 4) B of stores
Changed:    from warp_per_row: four neighbours per load; four codes per store
Why faster: a quarter of the load and of the store requests, for the same bytes
Source:     ours; Justin Luitjens, CUDA Pro Tip: Increase Performance with Vectorized Memory Access, NVIDIA Technical Blog
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, uint8, uint32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.intrinsics import WIDTH, load4, rows_aligned
from kernels.quant.codes import code_of, magnitude, scale_of
from kernels.quant.quantise.s30_warp_per_row import WARP, WARPS, largest_of_warp
from kernels.quant.quantise.s30_warp_per_row import kernel as scalar_kernel


@cuda.jit(device=True)
def word_of(four, scale):
    """The codes of four numbers in one word, the first in its lowest byte: the order of int8 in memory."""
    word = uint32(0)
    for i in range(WIDTH):
        word = uint32(word | uint32(uint8(code_of(four[i], scale))) << (8 * i))
    return word


@cuda.jit
def kernel(x, words, scale):
    lane = cuda.threadIdx.x % WARP
    row = cuda.blockIdx.x * WARPS + cuda.threadIdx.x // WARP
    if row < x.shape[0]:  # the lanes of a warp agree, so all of them shuffle
        absmax = int32(0)
        for word in range(lane, words.shape[1], WARP):
            four = load4(x, (row, WIDTH * word))
            for i in range(WIDTH):
                absmax = max(absmax, magnitude(four[i]))
        row_scale = scale_of(largest_of_warp(absmax))
        if lane == 0:
            scale[row] = row_scale
        for word in range(lane, words.shape[1], WARP):
            words[row, word] = word_of(load4(x, (row, WIDTH * word)), row_scale)


def words_of(x, q):
    """q as (rows, columns / 4) words, or None where rows of x or of words would start off their boundary."""
    whole = rows_aligned(x) and q.device_ctypes_pointer.value % WIDTH == 0
    return q.view(np.uint32) if whole else None


def run(buffers, stream):
    x, q, scale = buffers["x"], buffers["q"], buffers["scale"]
    words = words_of(x, q)
    launch = ceil_div(x.shape[0], WARPS), WARP * WARPS, stream
    if words is None:
        scalar_kernel[launch](x, q, scale)
    else:
        kernel[launch](x, words, scale)


def cost(case: Case) -> Cost:
    rows, columns = case["rows"], case["columns"]
    return Cost(flops=rows * (columns + 1), load_bytes=8 * rows * columns, store_bytes=rows * (columns + 4))


CASE = Case(rows=128, columns=256)
CLAIMS = (
    # 128 rows, 2 passes: 8 loads of 32 values; then 2 of 128
    Claim("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", before=128 * 2 * 8, after=128 * 2 * 2, case=CASE),
    # 128 rows: 8 stores of 32 codes and the scale; then 2 of 128
    Claim("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", before=128 * (8 + 1), after=128 * (2 + 1), case=CASE),
)
