"""Wrong products of int8 codes."""

from __future__ import annotations

from kernels.case import Case
from tests.kernels.mutants import Mutant

SMALL, WORDS = Case(m=33, n=31, k=127), Case(m=132, n=124, k=36)
KIND = "normal"
LOADED = "        cuda.syncthreads()  # the tiles are complete\n"
USED = "        cuda.syncthreads()  # nobody reloads while others still read\n"
GUARD_C = "if row < sums.shape[0] and col < sums.shape[1]:\n        "
LOADS = "simt__global_bytes_requested_op_ld"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"

MUTANTS = (
    Mutant(
        "int8_matmul/dequantise",
        "scales by column of the codes",
        "float32(codes[row, col]) * scales[row]",
        "float32(codes[row, col]) * scales[col % scales.size]",
        "values",
        SMALL,
        KIND,
    ),
    Mutant("int8_matmul/dequantise", "no bias", "total + bias[col]", "total", "values", SMALL, KIND),
    Mutant("int8_matmul/naive", "codes lose their sign", "int32(a[row, i])", "(int32(a[row, i]) & 255)", "values", SMALL, KIND),
    Mutant("int8_matmul/naive", "sums in 16 bits", "int32(total + int32(a[row, i]) * int32(b[col, i]))",
           "int32((total + int32(a[row, i]) * int32(b[col, i])) << 48 >> 48)", "values", SMALL, KIND),
    Mutant("int8_matmul/naive", "rows and columns swapped", "b[col, i]", "b[row % b.shape[0], i]", "values", SMALL, KIND),
    Mutant("int8_matmul/naive", "no guard", "    if row < sums.shape[0] and col < sums.shape[1]:\n", "    if True:\n", "bounds",
           SMALL),
    Mutant(
        "int8_matmul/naive",
        "scales swapped",
        "scale_a[row] * scale_b[col]",
        "scale_b[row % scale_b.size] * scale_a[col % scale_a.size]",
        "values",
        SMALL,
        KIND,
    ),
    Mutant("int8_matmul/naive", "the bias is scaled", "float32(sums[row, col]) * (scale_a[row] * scale_b[col]) + bias[col]",
           "(float32(sums[row, col]) + bias[col]) * (scale_a[row] * scale_b[col])", "values", SMALL, KIND),
    Mutant("int8_matmul/tiled", "nobody waits for the tiles", LOADED, "", "race", SMALL, KIND),
    Mutant("int8_matmul/tiled", "tiles are overwritten while others read", USED, "", "race", SMALL, KIND),
    Mutant("int8_matmul/tiled", "cells past the edge are not padded",
           "        tile_b[y, x] = b[b_row, k0 + x] if inside and b_row < b.shape[0] else int8(0)\n",
           "        if inside and b_row < b.shape[0]:\n            tile_b[y, x] = b[b_row, k0 + x]\n", "init", SMALL, KIND),
    Mutant("int8_matmul/tiled", "only rows of A wait", USED, USED.replace("cuda", "if row < a.shape[0]:\n            cuda"),
           "sync", SMALL, KIND),
    Mutant("int8_matmul/tiled", "the last, partial tile is left out", "range(0, a.shape[1], TILE)",
           "range(0, a.shape[1] // TILE * TILE, TILE)", "values", SMALL, KIND),
    Mutant("int8_matmul/dp4a", "rows without the spare word", "ROW = TILE + 1", "ROW = TILE", f"budget:{CONFLICTS}",
           Case(m=64, n=64, k=128)),
    Mutant("int8_matmul/dp4a", "the sum of each word replaces the last", "x, i], total)", "x, i], int32(0))", "values", WORDS,
           KIND),
    Mutant("int8_matmul/dp4a", "rows of B loaded for columns of the thread", "b_row = cuda.blockIdx.x * TILE + y",
           "b_row = cuda.blockIdx.x * TILE + x", "values", WORDS, KIND),
    Mutant("int8_matmul/register_tiled", "sums do not start at zero", "            totals[i, j] = 0\n",
           "            totals[i, j] = i\n", "values", WORDS, KIND),
    Mutant("int8_matmul/register_tiled", "no guard for k", "y < matrix.shape[0] and word < matrix.shape[1]",
           "y < matrix.shape[0]", "bounds", Case(m=127, n=129, k=12)),
    Mutant("int8_matmul/register_tiled", "no guard for the last rows", "if y < sums.shape[0] and x < sums.shape[1]:",
           "if x < sums.shape[1]:", "bounds", WORDS),
    Mutant("int8_matmul/register_tiled", "the halves of the tile swapped",
           "x = tile_row + row + i // HALF * TILE // 2 + i % HALF, tile_col", "x = tile_row + row + i, tile_col", "values",
           WORDS, KIND),
    Mutant("int8_matmul/fused", "scale of the row for the column", "scale, shift = scale_b[x], bias[x]",
           "scale, shift = scale_a[x % c.shape[0]], bias[x]", "values", WORDS, KIND),
    Mutant("int8_matmul/fused", "the bias is scaled too", "(scales[i] * scale) + shift", "(scales[i] * scale) + shift * scale",
           "values", WORDS, KIND),
    Mutant("int8_matmul/fused", "every result loads its scales anew", "* (scales[i] * scale) + shift",
           "* (scale_a[y] * scale_b[x]) + bias[x]", f"budget:{LOADS}", Case(m=128, n=128, k=128)),
)
