"""Debug detective: kernels with one planted bug each, to be found by what the check says. The names do not give it away."""

from __future__ import annotations

from kernels.case import Case
from kernels.ladder import Ladder
from workbook.exercises.detective import problems
from workbook.exercises.entry import Exercise
from workbook.exercises.problem import large

TITLE = "debug detective: one bug in each kernel, found by its traces"


def _case(word: str, problem: Ladder, checked: Case, *hints: str) -> Exercise:
    answer = f"solutions/detective/{word}.py"
    return Exercise(f"detective/{word}", answer, problem, hints, checked=checked, large=large(checked))


EXERCISES = (
    _case(
        "picture",
        problems.PICTURE,
        Case(rows=23, columns=37),
        "Which cells are never written, and in which shapes? A square picture comes out whole.",
        "The kernel guards and stores as it should. How many threads are there along x, and how many columns?",
        "In run, out.shape names rows first.",
    ),
    _case(
        "project",
        problems.PROJECT,
        Case(rows=97, columns=41),
        "The check tried what comes out when a part of the columns does not count, and found the same numbers.",
        "Which is the last col that the loop sees? range(3) gives 0, 1, 2.",
        "range(a.shape[1]) sees all columns; nothing is to be subtracted.",
    ),
    _case(
        "smooth",
        problems.SMOOTH,
        Case(n=199),
        "A race is a write and another access of one cell, by two threads, with no barrier between. Look at both lines.",
        "One thread stores into the tile what another one reads. What makes the second wait for the first?",
        "cuda.syncthreads() after the last store into the tile, outside of every `if`.",
    ),
    _case(
        "histogram",
        problems.HISTOGRAM,
        Case(n=461),
        "The numbers are wrong by something that no thread of the block has added. What was there before the first add?",
        "Shared memory is not zero when a block begins: nobody wrote what the first atomic add of a bin reads.",
        "Let threads 0 to 15 store 0 in counts[x], and all wait, before anyone counts.",
    ),
    _case(
        "largest",
        problems.LARGEST,
        Case(n=461),
        "Some threads of a block wait at the line named, and others never come there. What keeps them away?",
        "The barrier is under a condition that is true in some threads only.",
        "The work stays inside `if x < step`; the barrier stands after it, one level to the left.",
    ),
    _case(
        "level",
        problems.LEVEL,
        Case(rows=97, columns=41),
        "All results are right. The line that is named computes in float64: which of its operands is one?",
        "A variable has one type for the whole kernel. Where does the sum get its first value?",
        "0.0 is a float64; float32(0) is the zero to begin with.",
    ),
    _case(
        "energy",
        problems.ENERGY,
        Case(n=461),
        "Quiet signals are right, loud ones wrong. Subtract what was expected from what came out, and divide by 2**32.",
        "a holds int16, out int64. Something between them holds 32 bits.",
        "The tile's type is named in the kernel: int32 holds up to 2147483647, int64 holds the sum.",
    ),
    _case(
        "product",
        problems.PRODUCT,
        Case(m=21, n=27, k=29),
        "Up to k = 8 nothing is wrong: it takes a second round. Which two lines does the race name?",
        "One warp fills the tiles of the next round while another still reads those of this round.",
        "A second cuda.syncthreads(), after the inner loop and inside the outer one.",
    ),
    _case(
        "total",
        problems.TOTAL,
        Case(n=461),
        "The two threads of the race are in one warp: which rounds have no barrier at all?",
        "Threads of a warp need not run in step. cuda.syncwarp() waits for those of the warp.",
        "In each round: read tile[x + step] into a variable, syncwarp, add it to tile[x], syncwarp.",
    ),
    _case(
        "headroom",
        problems.HEADROOM,
        Case(n=461),
        "The first reduction is right, and the second by itself too. Which two lines does the race name?",
        "All threads read tile[0] after the first reduction. Who writes tile[0] next, and does it wait for them?",
        "A cuda.syncthreads() between fetching the largest cell and filling the tile anew.",
    ),
)
