"""First kernels, without speed: one idea each, small enough to work out by hand."""

from __future__ import annotations

import math

from kernels.case import Case
from kernels.ladder import Ladder
from simt.observe import names
from workbook.exercises.entry import Budget, Exercise
from workbook.exercises.first import problems
from workbook.exercises.problem import large

TITLE = "first kernels: threads, blocks, guards, shared memory"

LINE, LONGER = Case(n=97), Case(n=199)
SHEET, TABLE = Case(rows=23, columns=37), Case(rows=13, columns=130)


def _exercise(
    word: str, problem: Ladder, checked: Case, hints: tuple[str, ...], *budgets: Budget, stores: int | None = None
) -> Exercise:
    """`stores`: of four bytes each; by default one for each cell of out, so that no thread does another one's work again."""
    ((shape, _),) = problem.outputs(checked, {}).values()
    stored = Budget(names.GLOBAL_BYTES_REQUESTED_ST, 4 * (stores or math.prod(shape)), checked, "bytes stored")
    return Exercise(
        f"first/{word}",
        answer=f"solutions/first/{word}.py",
        problem=problem,
        hints=hints,
        budgets=(stored, *budgets),
        checked=checked,
        large=large(checked),
    )


def _loads(at_most: int, case: Case) -> Budget:
    return Budget(names.GLOBAL_REQUESTS_LD, at_most, case, "global load requests")


EXERCISES = (
    _exercise(
        "map",
        problems.MAP,
        LINE,
        (
            "All threads run the same line; i is another number in each, so that a[i] and out[i] are its own cells.",
            "out[i] is 2 * a[i], and nothing else: no loop, and no other cell.",
        ),
    ),
    _exercise(
        "zip",
        problems.ZIP,
        LINE,
        (
            "threadIdx.x begins at 0 in every block. What counts on through the blocks is one call of cuda, and map has it.",
            "cuda.grid(1) is the number; then it is cell i of a minus cell i of b, stored in cell i of out.",
        ),
    ),
    _exercise(
        "guard",
        problems.GUARD,
        LINE,
        (
            "There are 32 threads in each block, and the last block may have fewer cells: the others must not write.",
            "a has one cell more than out. The guard has to ask whether the cell that is written exists.",
            "if i < out.shape[0]: then a[i + 1] exists as well.",
        ),
    ),
    _exercise(
        "map_2d",
        problems.MAP_2D,
        SHEET,
        (
            "x walks along a row, from column to column. Which of the two is an array's first index?",
            "col, row = cuda.grid(2), and the cell is out[row, col].",
            "Two comparisons: row < out.shape[0] and col < out.shape[1].",
        ),
    ),
    _exercise(
        "broadcast",
        problems.BROADCAST,
        SHEET,
        (
            "Every cell of out has a thread, as in map_2d. a has one number per row, b one per column.",
            "So all threads of a row read the same cell of a: which of col and row is its index?",
            "out[row, col] = a[row] - b[col], with both guards.",
        ),
    ),
    _exercise(
        "blocks",
        problems.BLOCKS,
        LINE,
        (
            "Before block 2 there are two blocks, and blockDim.x threads in each.",
            "i = the block's number * threads per block + the thread's number in its block.",
            "33 cells take two blocks: the division by THREADS has to round up, as ceil_div does.",
        ),
    ),
    _exercise(
        "blocks_2d",
        problems.BLOCKS_2D,
        SHEET,
        (
            "Along x it is the same as in blocks, with .x everywhere; along y with .y.",
            "The grid is (blocks along x, blocks along y), and x is the column, while a shape names rows first.",
            "grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])",
            "The mirror of column 0 is the last one, number out.shape[1] - 1.",
        ),
    ),
    _exercise(
        "pooling",
        problems.POOLING,
        LINE,
        (
            "for back in range(WINDOW): the cell is i - back. What is it in thread 0 when back is 1?",
            "a[-1] is no error, but the last cell of a: compare before you read.",
            "if i >= back: total += a[i - back]",
        ),
    ),
    _exercise(
        "grid_stride",
        problems.GRID_STRIDE,
        Case(n=500),
        (
            "With 96 threads, the thread that has cell 0 has cells 96, 192, … too.",
            "range(first, end, stride) counts so, and gives nothing where first is past the end.",
            "for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)): and in it 1 - a[i]",
        ),
        _loads(16, Case(n=500)),  # 16 groups of 32 neighbours make up 500 cells
    ),
    _exercise(
        "typed",
        problems.TYPED,
        LINE,
        (
            "The check shows one complaint at a time, with its line: mend the first, save, read the second.",
            "cuda.blockDim.x is known when the kernel runs; the size of a shared array must be known when it is compiled.",
            "THREADS is a global, which the compiler reads as a constant. For the second one: a is the whole array, and this "
            "thread has one cell of it to scale, a[i].",
        ),
    ),
    _exercise(
        "shared",
        problems.SHARED,
        LONGER,
        (
            "Two steps with cuda.syncthreads() between them: each thread writes tile[x], then reads two cells of the tile.",
            "The guards are for loading and for storing. The barrier is for all threads of the block: not inside an `if`.",
            "The block's last cell is tile[cells - 1], so the mirror of tile[x] is tile[cells - 1 - x].",
        ),
        _loads(7, LONGER),  # 199 cells are 7 warps' worth
    ),
    _exercise(
        "conv_1d",
        problems.CONV_1D,
        LONGER,
        (
            "tile[x] is cell i. tile[64] to tile[67] are the halo: the first four threads load a second cell.",
            "A cell of a that does not exist is a float32(0) in the tile. All threads come to the barrier.",
            "tile[x + THREADS] = a[i + THREADS], if x < HALO; and in the sum tile[x + k] * w[k]",
        ),
        # 7 warps' worth of cells, 3 halos (the last block's lies past the end), and w five times in each of 7 warps
        _loads(7 + 3 + 5 * 7, LONGER),
    ),
    _exercise(
        "dot",
        problems.DOT,
        Case(n=461),
        (
            "A thread past the end has no product, and its cell of the tile is added all the same: it puts float32(0) there.",
            "In a round only threads with x < step add; the barrier after it is for all, so it stands outside of the `if`.",
            "if x < step: tile[x] += tile[x + step]; at the end thread 0 stores tile[0] in out[cuda.blockIdx.x].",
        ),
    ),
    _exercise(
        "axis_sum",
        problems.AXIS_SUM,
        TABLE,
        (
            "The grid has as many blocks as a has rows: cuda.blockIdx.x is the row.",
            "Thread x begins with column x and goes on in strides of THREADS, as in grid_stride.",
            "for col in range(x, a.shape[1], THREADS): total += a[row, col]; thread 0 stores tile[0] in out[row].",
        ),
    ),
    _exercise(
        "prefix_sum",
        problems.PREFIX_SUM,
        Case(n=331),
        (
            "tile[x] += tile[x - step] reads a cell that another thread is about to change. Read into a variable first.",
            "Read, wait, write, wait. A thread with x < step has nothing to add: float32(0). All come to both barriers.",
            "The second launch: block 3 has to add totals[0], totals[1] and totals[2].",
        ),
        stores=331 + 6 + 331,  # out, the totals of the blocks, and out once more
    ),
)
