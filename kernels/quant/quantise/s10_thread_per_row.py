"""One thread per row: it looks for the largest magnitude, then goes through the row again for the codes.

Computes:   scale[row] = absmax of the row / 127; q[row, col] = rint(x[row, col] / scale[row]), ties to even, in
            [-127, 127]; x float32, C-contiguous, any rows columns; zeros, infinities, NaNs as kernels.quant.formats says
Launch:     grid ceil(rows/128), block 128, 0 B shared
Cost:       rows (columns + 1) divisions; asks for 8 rows columns B of loads and rows (columns + 4) B of stores
Changed:    first step
Why faster: it is not: it is what the others are compared with
Source:     ours; symmetric absmax codes: Dettmers et al., LLM.int8(), NeurIPS 2022, section 2
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import Case, Cost, ceil_div
from kernels.quant.codes import code_of, magnitude, scale_of

THREADS = 128


@cuda.jit
def kernel(x, q, scale):
    row = cuda.grid(1)
    if row < x.shape[0]:
        absmax = int32(0)
        # gap: the largest magnitude of the row | 2 lines
        for col in range(x.shape[1]):
            absmax = max(absmax, magnitude(x[row, col]))
        # end gap
        row_scale = scale_of(absmax)
        # gap: store the scale, and the code of every number of the row | 3 lines
        scale[row] = row_scale
        for col in range(x.shape[1]):
            q[row, col] = code_of(x[row, col], row_scale)
        # end gap


def run(buffers, stream):
    x = buffers["x"]
    kernel[ceil_div(x.shape[0], THREADS), THREADS, stream](x, buffers["q"], buffers["scale"])


def cost(case: Case) -> Cost:
    rows, columns = case["rows"], case["columns"]
    return Cost(flops=rows * (columns + 1), load_bytes=8 * rows * columns, store_bytes=rows * (columns + 4))


CLAIMS = ()
