"""The gaps of the ladders quantise, int8_matmul and dequant_gemv; budgets are what each step claims (CLAIMS in its file)."""

from __future__ import annotations

from kernels.case import Case
from kernels.quant.dequant_gemv import LADDER as GEMV
from kernels.quant.int8_matmul import LADDER as INT8_MATMUL
from kernels.quant.quantise import LADDER as QUANTISE
from simt.observe import names
from workbook.exercises.entry import Budget, Exercise

TITLE = "quantised operations: int8 codes of rows, products of codes, weights of four bits"

ROWS, LONG_ROWS = Case(rows=128, columns=256), Case(rows=16, columns=1024)
SMALL, WORDS, TILE = Case(m=64, n=64, k=64), Case(m=64, n=64, k=128), Case(m=128, n=128, k=128)
RAGGED_BY_FOURS = Case(m=257, n=388, k=20)  # dp4a needs rows of whole words; others go to tiled's kernel
ONE_BLOCK = Case(b=1, n=128, k=256)
ODD = Case(b=5, n=101, k=211)  # several blocks, a last byte with one code, a last group of 83


def _bytes_loaded(at_most: int, case: Case) -> Budget:
    return Budget(names.GLOBAL_BYTES_REQUESTED_LD, at_most, case, "bytes that loads ask for")


def _bytes_stored(at_most: int, case: Case) -> Budget:
    return Budget(names.GLOBAL_BYTES_REQUESTED_ST, at_most, case, "bytes that stores write")


def _sectors_per_load(at_most: float, case: Case) -> Budget:
    return Budget(names.GLOBAL_SECTORS_LD, at_most, case, "sectors per load request", per=names.GLOBAL_REQUESTS_LD)


EXERCISES = (
    Exercise(
        "quant/thread_per_row",
        answer="kernels/quant/quantise/s10_thread_per_row.py",
        problem=QUANTISE,
        hints=(
            "magnitude(…) is |x| as an integer that orders like the number, above which come infinity and NaN: take the max.",
            "The scale is what one code is worth; code_of(x[row, col], row_scale) rounds to the nearest, ties to even.",
            "Two loops over range(x.shape[1]): absmax = max(absmax, magnitude(x[row, col])), then q[row, col] = code_of(…).",
        ),
    ),
    Exercise(
        "quant/block_per_row",
        answer="kernels/quant/quantise/s20_block_per_row.py",
        problem=QUANTISE,
        hints=(
            "Thread t takes columns t, t + THREADS, … of its block's row: a warp's loads then lie side by side.",
            "The tree: thread t below half takes the larger of maxima[t] and maxima[t + half]; half goes 128, 64, … 1.",
            "Each round of the tree reads what the one before wrote: a barrier after every round, which all threads reach, so "
            "it stands outside the if.",
        ),
        budgets=(
            _sectors_per_load(4, LONG_ROWS),
            Budget(names.GLOBAL_SECTORS_ST, 1, LONG_ROWS, "sectors per store request", per=names.GLOBAL_REQUESTS_ST),
        ),
    ),
    Exercise(
        "quant/warp_per_row",
        answer="kernels/quant/quantise/s30_warp_per_row.py",
        problem=QUANTISE,
        hints=(
            "All lanes need the scale in the end, not lane 0 alone. shfl_xor_sync exchanges a value between two lanes.",
            "cuda.shfl_xor_sync(ALL_LANES, absmax, distance): lane t gets that of lane t ^ distance. Take the larger of both.",
            "distance goes 16, 8, 4, 2, 1. Then lane 0 stores the scale, and lane t codes columns t, t + WARP, …",
        ),
        budgets=(
            Budget(names.BARRIERS, 0, ROWS, "arrivals of warps at barriers"),
            Budget(names.SHARED_REQUESTS_LD, 0, ROWS, "shared load requests"),
            _sectors_per_load(4, ROWS),
        ),
    ),
    Exercise(
        "quant/int8_naive",
        answer="kernels/quant/int8_matmul/s20_naive.py",
        problem=INT8_MATMUL,
        hints=(
            "Neither scale depends on k, so the sum can be one of integers: code times code, a byte each.",
            "int32(…) around both codes before they are multiplied: a product of two int8 does not fit into 8 bits.",
            "total = int32(total + int32(a[row, i]) * int32(b[col, i])); then float32(sum) * (scale_a[row] * scale_b[col]) and "
            "the bias of the column.",
        ),
        budgets=(_bytes_loaded(2 * 64**3 + 16 * 64**2, SMALL), _bytes_stored(8 * 64**2, SMALL)),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "quant/int8_dp4a",
        answer="kernels/quant/int8_matmul/s40_dp4a.py",
        problem=INT8_MATMUL,
        hints=(
            "It is matmul/tiled with words for numbers: a word holds four codes that follow each other along k.",
            "Both matrices lie along k: thread (x, y) loads word k0 + x, of row `row` of A and of row `b_row` of B.",
            "dp4a(word_a, word_b, total) is total and four products: for each i, the words tile_a[y, i] and tile_b[x, i]. A "
            "barrier before that loop, and one after it.",
        ),
        budgets=(
            Budget(names.SHARED_REQUESTS_LD, 128 * 32 * 2, WORDS, "shared load requests"),
            Budget(names.GLOBAL_REQUESTS_LD, 128 * (1 * 2 + 4), WORDS, "global load requests"),
            Budget(names.SHARED_CONFLICTS_LD, 0, WORDS, "bank conflicts of shared loads"),
        ),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "quant/int8_fused",
        answer="kernels/quant/int8_matmul/s60_fused.py",
        problem=INT8_MATMUL,
        hints=(
            "totals[i, j] is the sum of row y and column x, where y belongs to i as in the loop above, and x to j.",
            "The result is float32(totals[i, j]) * (scales[i] * scale_b[x]) + bias[x]; scale and bias of a column are wanted "
            "eight times: load them once.",
            "For i in range(PART): y as above; only if y < c.shape[0], store c[y, x].",
        ),
        budgets=(
            _bytes_stored(4 * 128**2, TILE),
            _bytes_loaded(2 * 128**2 + 16 * 128 * (4 + 8), TILE),
        ),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "quant/gemv_int8",
        answer="kernels/quant/dequant_gemv/s20_fused_int8.py",
        problem=GEMV,
        hints=(
            "Weight = code * scale, and 128 neighbours share a scale: sum x * code over the group, and scale that sum once.",
            "The group's columns are first to first + GROUP, but the last group of a row may end at codes.shape[1] before.",
            "part += x[batch, i] * float32(codes[row, i]) in the loop; after it total += part * scales[row, group].",
        ),
        budgets=(_bytes_loaded(128 * (5 * 256 + 4 * 2), ONE_BLOCK), _bytes_stored(4 * 128, ONE_BLOCK)),
        checked=ODD,
    ),
    Exercise(
        "quant/gemv_int4",
        answer="kernels/quant/dequant_gemv/s30_int4.py",
        problem=GEMV,
        hints=(
            "Byte i // 2 of a row has code i in its low four bits and code i + 1 in its high four, for even i.",
            "Four bits are in two's complement: 0 to 7 mean themselves, 8 to 15 mean -8 to -1. pair & 15 and pair >> 4 have "
            "no sign yet.",
            "(bits ^ 8) - 8 gives the sign to four bits. With an odd k the last high four have no code: ask i + 1 < k.",
        ),
        budgets=(
            _bytes_loaded(128 * (4 * 256 + 128 + 4 * 2), ONE_BLOCK),
            Budget(names.GLOBAL_REQUESTS_LD, 4 * (256 + 128 + 2), ONE_BLOCK, "global load requests"),
        ),
        checked=ODD,
    ),
    Exercise(
        "quant/gemv_warp",
        answer="kernels/quant/dequant_gemv/s40_warp_per_row.py",
        problem=GEMV,
        hints=(
            "A row lies in one piece: if lane t takes byte t, then t + 32, …, a load of the warp is 32 bytes, one sector.",
            "Byte i holds weights 2i and 2i + 1, low first; for an odd k the last byte has only one. Their scale is that of "
            "group 2 * i // GROUP.",
            "In warp_sum: value += cuda.shfl_down_sync(ALL_LANES, value, distance), with distance 16, 8, 4, 2, 1.",
        ),
        budgets=(
            Budget(names.GLOBAL_SECTORS_LD, 128 * 4 * (8 + 8 + 1 + 1), ONE_BLOCK, "sectors that loads touch"),
            Budget(names.SHARED_REQUESTS_LD, 0, ONE_BLOCK, "shared load requests"),
        ),
        checked=ODD,
    ),
)
