"""Wrong products of float32 matrices."""

from __future__ import annotations

from kernels.case import Case
from tests.kernels.mutants import Mutant

SMALL, SQUARE, SECOND_TILE = Case(m=31, n=33, k=35), Case(m=33, n=33, k=5), Case(m=33, n=31, k=65)
WHOLE = Case(m=64, n=64, k=64)
FOURS, WIDE = Case(m=5, n=8, k=12), Case(m=125, n=124, k=12)  # 4 divides n and k, so that the 16-byte kernels run
KIND = "integers"
LOADED = "        cuda.syncthreads()  # the tiles are complete\n"
USED = "        cuda.syncthreads()  # nobody reloads while others still read\n"
ZERO_SUM = "    total = float32(0)\n"
GUARD_C = "    if row < c.shape[0] and col < c.shape[1]:\n"
SECTORS_READ = "budget:l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORE_CONFLICTS = "budget:l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"

MUTANTS = (
    Mutant("matmul/naive", "no guard", GUARD_C, "    if True:\n", "bounds", SMALL),
    Mutant("matmul/naive", "the guard lets one row more in", "row < c.shape[0]", "row <= c.shape[0]", "bounds", SMALL),
    Mutant("matmul/naive", "products are not added up", "total += a", "total = a", "values", SMALL, KIND),
    Mutant("matmul/naive", "the last product is left out", "range(a.shape[1])", "range(a.shape[1] - 1)", "values", SMALL, KIND),
    Mutant("matmul/naive", "the result is stored transposed", "c[row, col] =", "c[col, row] =", "values", SQUARE, KIND),
    Mutant("matmul/naive", "a plain 0 point 0 makes it float64", "total = float32(0)", "total = 0.0",
           "budget:ptx__inst_executed_fp64", SMALL),
    Mutant("matmul/coalesced", "row of A by column of C", "a[row, i]", "a[col, i]", "values", SQUARE, KIND),
    Mutant("matmul/coalesced", "the grid rounds down", "ceil_div(c.shape[1], SIDE), ceil", "c.shape[1] // SIDE, ceil", "values",
           SMALL, KIND),
    Mutant("matmul/coalesced", "rows and columns of the grid swapped",
           "grid = ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)",
           "grid = ceil_div(c.shape[0], SIDE), ceil_div(c.shape[1], SIDE)", "values", Case(m=100, n=4, k=4), KIND),
    Mutant("matmul/coalesced", "a warp walks a column", "col, row = cuda.grid(2)", "row, col = cuda.grid(2)", SECTORS_READ,
           WHOLE),
    Mutant("matmul/tiled", "nobody waits for the tiles", LOADED, "", "race", SECOND_TILE),
    Mutant("matmul/tiled", "tiles are overwritten while others read", USED, "", "race", SECOND_TILE),
    Mutant("matmul/tiled", "threads past the edges return early", ZERO_SUM,
           ZERO_SUM + "    if row >= c.shape[0] or col >= c.shape[1]:\n        return\n", "sync", SECOND_TILE),
    Mutant("matmul/tiled", "cells past the edge are not padded",
           "        tile_b[y, x] = b[k0 + y, col] if inside_b else float32(0)\n",
           "        if inside_b:\n            tile_b[y, x] = b[k0 + y, col]\n", "init", SECOND_TILE),
    Mutant("matmul/tiled", "the last, partial tile is left out", "range(0, a.shape[1], TILE)",
           "range(0, a.shape[1] // TILE * TILE, TILE)", "values", SECOND_TILE, KIND),
    Mutant("matmul/tiled", "the tile ends one early", "for i in range(TILE):", "for i in range(TILE - 1):", "values",
           SECOND_TILE, KIND),
    Mutant("matmul/tiled", "no guard for k", "row < a.shape[0] and k0 + x < a.shape[1]", "row < a.shape[0]", "bounds",
           SECOND_TILE),
    Mutant("matmul/tiled", "tiles and sums in float16", "from numba import cuda, float32\n",
           "from numba import cuda\nfrom numba.cuda.types import float16 as float32\n", "values", SECOND_TILE, "normal"),
    Mutant("matmul/register_1d", "the neighbour's row", "tile_a[row + j, i]", "tile_a[row + (j ^ 1), i]", "values", SMALL,
           KIND),
    Mutant("matmul/register_1d", "half of the results stay in registers",
           "    for i in range(THREAD_M):\n        if tile_row", "    for i in range(THREAD_M // 2):\n        if tile_row",
           "values", SMALL, KIND),
    Mutant("matmul/register_1d", "the first row's guard for all rows", "tile_row + row + i < c", "tile_row + row < c", "bounds",
           SMALL, KIND),
    Mutant("matmul/register_2d", "rows of A at the distance of rows of B", "a_row + i * A_ROWS", "a_row + i * B_ROWS", "init",
           SMALL),
    Mutant("matmul/vectorised", "four cells in reverse", "= four[i]", "= four[3 - i]", "values", FOURS, KIND),
    Mutant("matmul/bank_free", "columns of A without the spare 16 bytes", "ROW_A = TILE_M + 4", "ROW_A = TILE_M",
           STORE_CONFLICTS, FOURS),
    Mutant("matmul/warp_tile", "rows by the warp's column", "warp // 2 * WARP_M", "warp % 2 * WARP_M", "values", WIDE, KIND),
    Mutant("matmul/double_buffer", "one pair of tiles for all turns", "        turn ^= 1\n", "", "race", FOURS),
)
