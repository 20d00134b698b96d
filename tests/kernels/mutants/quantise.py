"""Wrong int8 codes and scales."""

from __future__ import annotations

from kernels.case import Case
from tests.kernels.mutants import Mutant

TALL = Case(rows=400, columns=3)
SHORT, RAGGED, LONG = Case(rows=7, columns=255), Case(rows=33, columns=132), Case(rows=5, columns=1028)
LOADS, STORES = "budget:simt__global_bytes_requested_op_ld", "budget:simt__global_bytes_requested_op_st"
REQUESTS = "budget:l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
FIRST_BARRIER = "    cuda.syncthreads()  # all maxima are there\n"
ROUND_BARRIER = "        cuda.syncthreads()  # the next round reads what this one wrote\n"
WARPS_BARRIER = "    cuda.syncthreads()  # the maxima of all warps are there\n"
THREAD, BLOCK, WARP, VECTOR, KEPT = (
    f"quantise/{name}" for name in ("thread_per_row", "block_per_row", "warp_per_row", "vectorised", "registers")
)
CODE = "code_of(x[row, col], row_scale)"
FOUR = "code_of(four[i], scale)"
FIRST_FOUR = "for i in range(WIDTH):\n                absmax"
LOAD_GUARD = "if word < words.shape[1]:\n            kept"
FIRST_PASS = "for col in range(x.shape[1]):\n            absmax"

MUTANTS = (
    Mutant(THREAD, "the last column is not looked at", FIRST_PASS, FIRST_PASS.replace("]", "] - 1"), "values", TALL, "normal"),
    Mutant(THREAD, "codes are cut off", CODE, "int32(x[row, col] / row_scale)", "values", SHORT, "integers"),
    Mutant(THREAD, "one code too high", CODE, "code_of(x[row, col] + row_scale, row_scale)", "values", SHORT, "normal"),
    Mutant(THREAD, "codes are negated", CODE, "code_of(-x[row, col], row_scale)", "values", SHORT, "normal"),
    Mutant(THREAD, "scales upside down", "scale[row] = row", "scale[x.shape[0] - 1 - row] = row", "values", SHORT, "normal"),
    Mutant(THREAD, "one row too many", "if row < x", "if row <= x", "bounds", SHORT, "integers"),
    Mutant(THREAD, "float64", "scale_of(absmax)", "scale_of(absmax) * 1.5 / 1.5", "budget:simt__flops_fp64"),
    Mutant(BLOCK, "nobody waits for the maxima", FIRST_BARRIER, "", "race", SHORT),
    Mutant(BLOCK, "nobody waits between rounds", ROUND_BARRIER, "", "race", SHORT),
    Mutant(BLOCK, "only those that compare wait", ROUND_BARRIER, "    " + ROUND_BARRIER, "sync", SHORT),
    Mutant(BLOCK, "half of the maxima are forgotten", "THREADS // 2", "THREADS // 4", "values", SHORT, "normal"),
    Mutant(
        BLOCK,
        "threads without a column leave no maximum",
        "    maxima[thread] = absmax\n",
        "    if absmax > 0:\n        maxima[thread] = absmax\n",
        "init",
        Case(rows=9, columns=33),
    ),
    Mutant(BLOCK, "every thread writes the scale", "if thread == 0", "if thread >= 0", STORES),
    Mutant(WARP, "neighbours do not compare", "while distance > 0", "while distance > 1", "values", SHORT, "normal"),
    Mutant(WARP, "every second row", "x // WARP\n    if", "x // WARP * 2\n    if", "values", SHORT, "normal"),
    Mutant(VECTOR, "the first code in the highest byte", "8 * i", "24 - 8 * i", "values", RAGGED, "normal"),
    Mutant(VECTOR, "signs spread", f"uint8({FOUR})", FOUR, "values", RAGGED, "normal"),
    Mutant(VECTOR, "only three of four count", FIRST_FOUR, FIRST_FOUR.replace("WIDTH", "3"), "values", RAGGED, "normal"),
    Mutant(VECTOR, "never 16 bytes at once", "whole = rows", "whole = False and rows", REQUESTS),
    Mutant(KEPT, "nobody waits for the other warps", WARPS_BARRIER, "", "race", LONG),
    Mutant(KEPT, "maxima of warps that are not there", "range(cuda.blockDim.x // WARP)", "range(MOST_WARPS)", "init", LONG),
    Mutant(KEPT, "one word too many", LOAD_GUARD, LOAD_GUARD.replace("<", "<="), "bounds", RAGGED, "integers"),
    Mutant(KEPT, "too few threads", "ceil_div(x.shape[1],", "ceil_div(x.shape[1] // 2,", "values", LONG, "normal"),
    Mutant(KEPT, "rows are read twice after all", "x.shape[1] > LONGEST", "x.shape[1] > WARP", LOADS),
)
