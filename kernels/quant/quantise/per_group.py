"""int8 codes with one scale for each 32, 64 or 128 neighbours of a row: a warp per group, which stays in its registers.

Computes:   scale[row, g] = absmax of x[row, group g : group (g + 1)] / 127, and the codes, as kernels.quant.formats says;
            the last group of a row may be shorter
Launch:     grid (rows, ceil(groups/8)), block (32, 8), 0 B shared
Cost:       asks for 4 rows columns B of loads, and rows (columns + 4 groups) B of stores, groups = ceil(columns/group)
Source:     ours; groups: Dettmers et al., 8-bit Optimizers via Block-wise Quantization, ICLR 2022
"""

from __future__ import annotations

from numba import cuda, float32, int32

from kernels.case import Case, Cost, Layout, ceil_div
from kernels.quant.codes import code_of, magnitude, scale_of
from kernels.quant.quantise.s30_warp_per_row import WARP, WARPS, largest_of_warp

GROUPS = (32, 64, 128)
MOST_VALUES = max(GROUPS) // WARP  # of a lane


@cuda.jit
def kernel(x, q, scale, group):
    """q (rows, columns), int8, and scale (rows, ceil(columns/group)), float32, from x (rows, columns), float32."""
    values = cuda.local.array(MOST_VALUES, float32)
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    which = cuda.blockIdx.y * WARPS + cuda.threadIdx.y
    if which < scale.shape[1]:  # the lanes of a warp agree, so all of them shuffle
        first, end = which * group, min(which * group + group, x.shape[1])
        absmax = int32(0)
        for i in range(MOST_VALUES):
            col = first + i * WARP + lane
            if col < end:
                values[i] = x[row, col]
                absmax = max(absmax, magnitude(values[i]))
        group_scale = scale_of(largest_of_warp(absmax))
        if lane == 0:
            scale[row, which] = group_scale
        for i in range(MOST_VALUES):
            col = first + i * WARP + lane
            if col < end:
                q[row, col] = code_of(values[i], group_scale)


def outputs(case: Case, inputs, group: int) -> Layout:
    """q (rows, columns) and scale (rows, ceil(columns / group))."""
    rows, columns = case["rows"], case["columns"]
    return {"q": ((rows, columns), "int8"), "scale": ((rows, ceil_div(columns, group)), "float32")}


def run(buffers, stream, group: int):
    """q (rows, columns), int8, and scale (rows, ceil(columns/group)), float32, from x (rows, columns), float32; none if empty.

    Raises ValueError unless group is in GROUPS and scale has a column for each group.
    """
    x, scale = buffers["x"], buffers["scale"]
    if group not in GROUPS:
        raise ValueError(f"a group has 32, 64 or 128 columns, not {group}")
    needed = x.shape[0], ceil_div(x.shape[1], group)
    if scale.shape != needed:
        raise ValueError(f"x {x.shape} in groups of {group} needs scales {needed}, not {scale.shape}")
    if not x.size:
        return
    grid = x.shape[0], ceil_div(scale.shape[1], WARPS)
    kernel[grid, (WARP, WARPS), stream](x, buffers["q"], scale, group)


def cost(case: Case, group: int) -> Cost:
    """FLOPs: a division for each code and for each scale. Bytes asked for: see Cost above."""
    rows, columns = case["rows"], case["columns"]
    groups = rows * ceil_div(columns, group)
    return Cost(flops=rows * columns + groups, load_bytes=4 * rows * columns, store_bytes=rows * columns + 4 * groups)
