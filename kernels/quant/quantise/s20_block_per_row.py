"""A block per row: its threads take consecutive columns, and find the largest of their maxima in shared memory.

Computes:   scale[row] = absmax of the row / 127; q[row, col] = rint(x[row, col] / scale[row]), ties to even, in
            [-127, 127]; x float32, C-contiguous, any rows columns; zeros, infinities, NaNs as kernels.quant.formats says
Launch:     grid rows, block 256, 1 KiB shared
Cost:       rows (columns + 1) divisions; asks for 8 rows columns B of loads and rows (columns + 4) B of stores
Changed:    from thread_per_row: 256 threads share a row; a tree of maxima in shared memory brings their absmax together
Why faster: a load of a warp touches 4 sectors (32 B) where it touched 32, a store 1 where it touched 32
Source:     ours; the tree: Mark Harris, Optimizing Parallel Reduction in CUDA, kernel 3
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import Case, Claim, Cost
from kernels.quant.codes import code_of, magnitude, scale_of

THREADS = 256


@cuda.jit(device=True)
def largest_of_block(absmax, maxima):
    thread = cuda.threadIdx.x
    maxima[thread] = absmax
    cuda.syncthreads()  # all maxima are there
    # gap: bring the largest of all maxima into maxima[0] | 6 lines
    half = THREADS // 2
    while half > 0:
        if thread < half:
            maxima[thread] = max(maxima[thread], maxima[thread + half])
        cuda.syncthreads()  # the next round reads what this one wrote
        half //= 2
    # end gap
    return maxima[0]


@cuda.jit
def kernel(x, q, scale):
    maxima = cuda.shared.array(THREADS, int32)
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    absmax = int32(0)
    # gap: the largest magnitude of this thread's columns; neighbours take neighbours | 2 lines
    for col in range(thread, x.shape[1], THREADS):
        absmax = max(absmax, magnitude(x[row, col]))
    # end gap
    row_scale = scale_of(largest_of_block(absmax, maxima))
    # gap: store the scale once, and the codes of this thread's columns | 4 lines
    if thread == 0:
        scale[row] = row_scale
    for col in range(thread, x.shape[1], THREADS):
        q[row, col] = code_of(x[row, col], row_scale)
    # end gap


def run(buffers, stream):
    x = buffers["x"]
    kernel[x.shape[0], THREADS, stream](x, buffers["q"], buffers["scale"])


def cost(case: Case) -> Cost:
    rows, columns = case["rows"], case["columns"]
    return Cost(flops=rows * (columns + 1), load_bytes=8 * rows * columns, store_bytes=rows * (columns + 4))


CASE = Case(rows=128, columns=256)
CLAIMS = (
    # 2 passes over 32768 values, 32 to a request: 32 sectors each; then 4
    Claim("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", before=2 * 1024 * 32, after=2 * 1024 * 4, case=CASE),
    # codes: 1024 requests of 32 sectors; then of 1. Scales: 4 requests of 4 sectors; then 128 of 1
    Claim(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        before=1024 * 32 + 4 * 4,
        after=1024 * 1 + 128 * 1,
        case=CASE,
    ),
)
