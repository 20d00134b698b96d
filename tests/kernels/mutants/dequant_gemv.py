"""Wrong products of a few rows with quantised weights."""

from __future__ import annotations

from kernels.case import Case
from tests.kernels.mutants import Mutant

SMALL, WIDE = Case(b=3, n=129, k=127), Case(b=1, n=33, k=1056)
GROUPS = Case(b=1, n=5, k=129)
KIND = "normal"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

MUTANTS = (
    Mutant("dequant_gemv/dequantise", "one scale for a row", "scales[row, col // GROUP]", "scales[row, 0]", "values", GROUPS,
           KIND),
    Mutant("dequant_gemv/dequantise", "the first row of x for all", "x[batch, i]", "x[0, i]", "values", SMALL, KIND),
    Mutant("dequant_gemv/dequantise", "no guard", "    if row < weights.shape[0]:\n", "    if True:\n", "bounds", SMALL),
    Mutant("dequant_gemv/fused_int8", "no scale", "part * scales[row, group]", "part", "values", SMALL, KIND),
    Mutant("dequant_gemv/fused_int8", "the last group is taken for whole", "min(first + GROUP, codes.shape[1])",
           "first + GROUP", "bounds", GROUPS),
    Mutant("dequant_gemv/fused_int8", "codes lose their sign", "float32(codes[row, i])", "float32(codes[row, i] & 15)",
           "values", SMALL, KIND),
    Mutant("dequant_gemv/fused_int8", "the part goes on into the next group", "            part = float32(0)\n",
           "            part = total * float32(0.5)\n", "values", GROUPS, KIND),
    Mutant("dequant_gemv/int4", "the sign of the low nibble is lost", "((pair & 15) ^ 8) - 8", "pair & 15", "values", SMALL,
           KIND),
    Mutant("dequant_gemv/int4", "the sign of the high nibble is lost", "int8(pair) >> 4", "pair >> 4", "values", SMALL, KIND),
    Mutant("dequant_gemv/int4", "an odd k reads x past its end", "if i + 1 < k:", "if True:", "bounds",
           Case(b=1, n=127, k=31)),
    Mutant("dequant_gemv/warp_per_row", "nibbles swapped", "part = x[batch, 2 * i] * low(pair)",
           "part = x[batch, 2 * i] * high(pair)", "values", SMALL, KIND),
    Mutant("dequant_gemv/warp_per_row", "a group of bytes, not of weights", "2 * i // GROUP", "i // GROUP", "values", GROUPS,
           KIND),
    Mutant("dequant_gemv/warp_per_row", "the last shuffle is left out", "(16, 8, 4, 2, 1)", "(16, 8, 4, 2)", "values", SMALL,
           KIND),
    Mutant("dequant_gemv/warp_per_row", "every lane stores", "        if lane == 0:\n", "        if lane >= 0:\n", "race",
           SMALL, KIND),
    Mutant("dequant_gemv/warp_per_row", "a lane takes neighbouring bytes", "range(lane, packed.shape[1], WARP)",
           "range(lane * (packed.shape[1] // WARP), (lane + 1) * (packed.shape[1] // WARP))", f"budget:{SECTORS}"),
    Mutant("dequant_gemv/vectorised", "nibbles without a sign", "int32(word << (28 - 4 * i)) >> 28",
           "(word >> (4 * i)) & 15", "values", WIDE, KIND),
    Mutant("dequant_gemv/vectorised", "x of the first half word twice", "first + 8 * i + j))", "first + 8 * i))", "values",
           WIDE, KIND),
    Mutant("dequant_gemv/vectorised", "only the first 1024 weights", "range(lane * CODES, x.shape[1], WARP * CODES)",
           "range(lane * CODES, min(x.shape[1], WARP * CODES), WARP * CODES)", "values", WIDE, KIND),
    Mutant("dequant_gemv/four_rows", "rows past the end are read", "        if row + r < packed.shape[0]:\n            words",
           "        if True:\n            words", "bounds", WIDE),
    Mutant("dequant_gemv/four_rows", "a warp moves on by one row", "(cuda.blockIdx.x * WARPS + warp) * ROWS",
           "cuda.blockIdx.x * WARPS * ROWS + warp", "values", WIDE, KIND),
)
