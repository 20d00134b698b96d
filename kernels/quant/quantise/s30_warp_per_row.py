"""A warp per row: its lanes exchange their maxima by shuffles.

Computes:   scale[row] = absmax of the row / 127; q[row, col] = rint(x[row, col] / scale[row]), ties to even, in
            [-127, 127]; x float32, C-contiguous, any rows columns; zeros, infinities, NaNs as kernels.quant.formats says
Launch:     grid ceil(rows/8), block 256, 0 B shared
Cost:       rows (columns + 1) divisions; asks for 8 rows columns B of loads and rows (columns + 4) B of stores
Changed:    from block_per_row: a warp where a block was, 8 rows per block; 5 shuffles instead of the tree
Why faster: no barrier and no shared memory; a short row no longer keeps 8 warps busy, of which 7 have little to do
Source:     ours; Justin Luitjens, Faster Parallel Reductions on Kepler, NVIDIA Technical Blog
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import Case, Claim, Cost, ceil_div
from kernels.quant.codes import code_of, magnitude, scale_of

WARP, WARPS = 32, 8
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def largest_of_warp(absmax):
    # gap: give the largest of the warp to every lane, without shared memory | 4 lines
    distance = WARP // 2
    while distance > 0:
        absmax = max(absmax, cuda.shfl_xor_sync(ALL_LANES, absmax, distance))  # both lanes of a pair get the larger
        distance //= 2
    # end gap
    return absmax


@cuda.jit
def kernel(x, q, scale):
    lane = cuda.threadIdx.x % WARP
    row = cuda.blockIdx.x * WARPS + cuda.threadIdx.x // WARP
    if row < x.shape[0]:  # the lanes of a warp agree, so all of them shuffle
        absmax = int32(0)
        for col in range(lane, x.shape[1], WARP):
            absmax = max(absmax, magnitude(x[row, col]))
        row_scale = scale_of(largest_of_warp(absmax))
        # gap: store the scale once, and the codes of this lane's columns | 4 lines
        if lane == 0:
            scale[row] = row_scale
        for col in range(lane, x.shape[1], WARP):
            q[row, col] = code_of(x[row, col], row_scale)
        # end gap


def run(buffers, stream):
    x = buffers["x"]
    kernel[ceil_div(x.shape[0], WARPS), WARP * WARPS, stream](x, buffers["q"], buffers["scale"])


def cost(case: Case) -> Cost:
    rows, columns = case["rows"], case["columns"]
    return Cost(flops=rows * (columns + 1), load_bytes=8 * rows * columns, store_bytes=rows * (columns + 4))


CASE = Case(rows=128, columns=256)
CLAIMS = (
    # 128 rows, 8 warps: a barrier for the maxima and one for each of 8 rounds; then none
    Claim("simt__barriers", before=128 * 8 * 9, after=0, case=CASE),
    # 128 rows: 2 loads for each warp that works in a round, 4 2 1 1 1 1 1 1 of 8; then one of maxima[0] by each warp
    Claim("simt__shared_requests_op_ld", before=128 * (2 * 12 + 8), after=0, case=CASE),
)
