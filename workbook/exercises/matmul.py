"""The gaps of the matmul ladder; budgets are what each step claims (CLAIMS in its file)."""

from __future__ import annotations

from kernels.case import Case
from kernels.matmul import LADDER
from simt.observe import names
from workbook.exercises.entry import Budget, Exercise

TITLE = "matrix multiplication: from one thread per cell to double-buffered warp tiles"

SMALL, TILE = Case(m=64, n=64, k=64), Case(m=128, n=128, k=64)
RAGGED_BY_FOURS = Case(m=260, n=388, k=20)  # the 16-byte kernels need rows of whole fours; others go to register_2d's


def _loads(at_most: int, case: Case) -> Budget:
    return Budget(names.GLOBAL_REQUESTS_LD, at_most, case, "global load requests")


def _shared_loads(at_most: int, case: Case) -> Budget:
    return Budget(names.SHARED_REQUESTS_LD, at_most, case, "shared load requests")


def _no_conflicts() -> tuple[Budget, ...]:
    return (
        Budget(names.SHARED_CONFLICTS_LD, 0, TILE, "bank conflicts of shared loads"),
        Budget(names.SHARED_CONFLICTS_ST, 0, TILE, "bank conflicts of shared stores"),
    )


EXERCISES = (
    Exercise(
        "matmul/naive",
        answer="kernels/matmul/s10_naive.py",
        problem=LADDER,
        hints=(
            "cuda.grid(2) gives this thread's x and y in the whole grid; the grid in run has rows on x and columns on y.",
            "Threads past the edges of C do nothing. The others add up a[row, i] * b[i, col] over i, a.shape[1] of them.",
            "Begin the sum with float32(0): a plain 0 or 0.0 makes Numba add in another type. Store once, after the loop.",
        ),
    ),
    Exercise(
        "matmul/coalesced",
        answer="kernels/matmul/s20_coalesced.py",
        problem=LADDER,
        hints=(
            "It is right as it stands, and 32 neighbouring threads load from 32 rows of A: 32 sectors in one request.",
            "The 32 threads of a warp have consecutive x. Which index should x be, so that their cells lie side by side?",
            "Let x be the column. In the grid, the number of blocks on x then covers c.shape[1].",
        ),
        budgets=(
            Budget(names.GLOBAL_SECTORS_LD, 2.5, SMALL, "sectors per load request", per=names.GLOBAL_REQUESTS_LD),
            Budget(names.GLOBAL_SECTORS_ST, 4, SMALL, "sectors per store request", per=names.GLOBAL_REQUESTS_ST),
        ),
    ),
    Exercise(
        "matmul/tiled",
        answer="kernels/matmul/s30_tiled.py",
        problem=LADDER,
        hints=(
            "Thread (x, y) loads tile_a[y, x] from a[row, k0 + x], and tile_b[y, x] from b[k0 + y, col].",
            "Past an edge of A or B, put float32(0) into the tile, so that the products there add nothing.",
            "Two barriers: one before anyone reads the tiles, one before anyone loads the next ones. All threads reach both.",
        ),
        budgets=(_loads(128 * 2 * 2, SMALL),),
    ),
    Exercise(
        "matmul/register_1d",
        answer="kernels/matmul/s40_register_1d.py",
        problem=LADDER,
        hints=(
            "A thread has the 8 cells in column col, rows row to row + 7; totals[j] is that of row + j.",
            "For each i below TILE_K, tile_b[i, col] is wanted 8 times: load it once into a variable.",
            "Two loops, i outside and j inside: totals[j] += tile_a[row + j, i] * value_b",
        ),
        budgets=(_shared_loads(16 * 64 * (1 + 8), SMALL),),
    ),
    Exercise(
        "matmul/register_2d",
        answer="kernels/matmul/s50_register_2d.py",
        problem=LADDER,
        hints=(
            "values_a and values_b hold what the thread needs for one k: 8 values of a column of tile_a, 8 of a row of tile_b.",
            "For each k: fill both, then totals[i, j] += values_a[i] * values_b[j] for all 64 pairs.",
            "Let the loops run over THREAD_M and THREAD_N: with constant bounds they unroll, and the arrays become registers.",
        ),
        budgets=(
            _shared_loads(8 * 64 * (8 + 8), TILE),
            Budget(names.LOCAL_REQUESTS_LD, 0, TILE, "loads from local memory"),
        ),
    ),
    Exercise(
        "matmul/vectorised",
        answer="kernels/matmul/s60_vectorised.py",
        problem=LADDER,
        hints=(
            "load4_or_zeros(array, row, col) gives four neighbours of a row, store4(array, (row, col), four) stores them.",
            "The four of A belong into one column of tile_a, which lies transposed: rows a_col to a_col + 3. B's stay a row.",
            "For C: j goes 0, 4; the four are totals[i, j] to totals[i, j + 3], and if the first is inside, all are.",
        ),
        budgets=(
            _loads(8 * 8 * (1 + 1), TILE),
            Budget(names.GLOBAL_REQUESTS_ST, 8 * 16, TILE, "global store requests"),
            _shared_loads(8 * 64 * (2 + 2), TILE),
        ),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "matmul/bank_free",
        answer="kernels/matmul/s70_bank_free.py",
        problem=LADDER,
        hints=(
            "A bank is 4 B wide and there are 32. With 16-byte loads, 8 threads at a time read 128 B: each bank once, at best.",
            "If neighbouring threads start 8 columns apart, threads 0 and 4 meet in one bank. Let them start 4 apart: then the "
            "other four columns of each have to begin somewhere else.",
            "Threads 2i and 2i + 1 store to rows four apart of tile_a, in one column. 4 words more per row part them.",
        ),
        budgets=(
            *_no_conflicts(),
            Budget(names.GLOBAL_SECTORS_ST, 16, TILE, "sectors per store request", per=names.GLOBAL_REQUESTS_ST),
        ),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "matmul/warp_tile",
        answer="kernels/matmul/s80_warp_tile.py",
        problem=LADDER,
        hints=(
            "Warps 0 and 1 have the upper half of the tile, 2 and 3 the lower one: that is warp // 2 and warp % 2, times 64.",
            "A group is 4 x 4 cells of each thread, and 8 x 4 threads make 32 x 16 cells of it: GROUP_M, GROUP_N.",
            "Within the warp, lane // 4 counts rows of threads and lane % 4 columns, four cells each.",
        ),
        budgets=(_shared_loads(4 * 64 * (2 + 4), TILE), *_no_conflicts()),
        checked=RAGGED_BY_FOURS,
    ),
    Exercise(
        "matmul/double_buffer",
        answer="kernels/matmul/s90_double_buffer.py",
        problem=LADDER,
        hints=(
            "The registers a_upper, a_lower, b_upper and b_lower hold what the next round stores into its tiles.",
            "They are loaded as before the loop, TILE_K further along k: A's columns, B's rows. Past the end they are zeros.",
            "No second barrier: the next round writes the other pair of tiles, and its barrier comes before anyone reads them.",
        ),
        budgets=(Budget(names.BARRIERS, 4 * 8, TILE, "arrivals of warps at barriers"),),
        checked=RAGGED_BY_FOURS,
    ),
)
