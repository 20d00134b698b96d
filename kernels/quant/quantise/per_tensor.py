"""int8 codes with one scale for the whole array, in two launches: nobody knows the scale before everybody has looked.

Computes:   scale[0] = absmax of x / 127; q[row, col] = rint(x[row, col] / scale[0]), as kernels.quant.formats says
Launch:     clear: 1 block of 1 thread; largest and codes: up to 1024 blocks of 256 threads, 0 B shared
Cost:       asks for 8 rows columns B of loads, and 4 B more per thread of codes; rows columns + 4 B of stores
Source:     ours

Integer maxima come out the same in any order: two runs give the same bits, which sums of float32 by atomics do not.
"""

from __future__ import annotations

from numba import cuda, int32

from kernels.case import Case, Cost, Layout, ceil_div
from kernels.quant.codes import code_of, magnitude, scale_of
from kernels.quant.quantise.s30_warp_per_row import WARP, largest_of_warp

THREADS = 256
MOST_BLOCKS = 1024


@cuda.jit
def clear(absmax):
    """absmax (1,), int32: 0, the bits of the least magnitude."""
    absmax[0] = 0


@cuda.jit
def largest(x, absmax):
    """absmax (1,), int32: the bits of the largest magnitude of x (n,), float32, as kernels.quant.codes.magnitude has them."""
    own = int32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own = max(own, magnitude(x[i]))
    own = largest_of_warp(own)  # one atomic per warp
    if cuda.threadIdx.x % WARP == 0:
        cuda.atomic.max(absmax, 0, own)


@cuda.jit
def codes(x, absmax, q, scale):
    """q (n,), int8, and scale (1,), float32, of x (n,), float32, whose largest magnitude `largest` has found."""
    tensor_scale = scale_of(absmax[0])
    if cuda.grid(1) == 0:
        scale[0] = tensor_scale
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        q[i] = code_of(x[i], tensor_scale)


def scratch(case: Case, inputs) -> Layout:
    """The bits of the absmax."""
    return {"absmax": ((1,), "int32")}


def outputs(case: Case, inputs) -> Layout:
    """q (rows, columns) and scale (1,)."""
    return {"q": ((case["rows"], case["columns"]), "int8"), "scale": ((1,), "float32")}


def run(buffers, stream):
    """q (rows, columns), int8, and scale (1,), float32, from x (rows, columns), float32, C-contiguous; absmax is scratch.

    Where x is empty, q is, and the scale is 0.
    """
    x, q, absmax = buffers["x"], buffers["q"], buffers["absmax"]
    blocks = _blocks(x.size)
    clear[1, 1, stream](absmax)
    largest[blocks, THREADS, stream](x.reshape(x.size), absmax)
    codes[blocks, THREADS, stream](x.reshape(x.size), absmax, q.reshape(q.size), buffers["scale"])


def cost(case: Case) -> Cost:
    """FLOPs: a division for each code and one for the scale. Bytes asked for: see Cost above."""
    size = case["rows"] * case["columns"]
    return Cost(flops=size + 1, load_bytes=8 * size + 4 * _blocks(size) * THREADS, store_bytes=size + 8)


def _blocks(size: int) -> int:
    """At least one, which writes the scale."""
    return min(max(1, ceil_div(size, THREADS)), MOST_BLOCKS)
