"""The gaps of the ladders reduction and argmax; budgets are what each step claims (CLAIMS in its file)."""

from __future__ import annotations

import copy

from kernels.case import Case
from kernels.ladder import Ladder
from kernels.reduction import LADDER
from kernels.reduction.argmax import LADDER as ARGMAX
from simt.observe import names
from workbook.exercises.entry import Budget, Exercise

TITLE = "reductions: from a tree that diverges to shuffles, and to the same bits in every run"

SMALL, LARGE = Case(n=16384), Case(n=65536)
MANY_PARTIALS = Case(n=257 * 8192 + 1)  # two_pass: more partial sums than a block has threads


def _with(case: Case) -> Ladder:
    """The problem of LADDER, with another case."""
    problem = copy.copy(LADDER)
    problem.cases = (*LADDER.cases, case)
    return problem


def _barriers(at_most: int, case: Case = SMALL) -> Budget:
    return Budget(names.BARRIERS, at_most, case, "arrivals of warps at barriers")


def _atomics(at_most: int, case: Case) -> Budget:
    return Budget(names.ATOMICS_GLOBAL, at_most, case, "atomics of warps on global memory")


EXERCISES = (
    Exercise(
        "reduction/strided_index",
        answer="kernels/reduction/s20_strided_index.py",
        problem=LADDER,
        hints=(
            "It is right as it stands, but in every warp some threads add while the others wait: the warp goes both ways.",
            "On each level, threads 0, 1, 2, … can take the pairs in turn: then whole warps have nothing to do, and skip it.",
            "Pair number t begins at cell 2 * stride * t. Is that below THREADS, add the cell that is stride further on to it.",
        ),
        budgets=(
            Budget(names.DIVERGENT_BRANCHES, 65 * (5 + 1), SMALL, "branches that part a warp"),
            Budget(names.SHARED_REQUESTS_LD, 65 * (2 * (4 + 2 + 1 + 5) + 1), SMALL, "shared load requests"),
        ),
    ),
    Exercise(
        "reduction/sequential",
        answer="kernels/reduction/s30_sequential.py",
        problem=LADDER,
        hints=(
            "With stride 16, the threads of a warp read cells 32 words apart: all of them in one bank, one after the other.",
            "Any order of additions will do. Which pairs have their left cells side by side, and their right ones too?",
            "Thread t adds cell t + stride to cell t, for all t below stride; the stride begins at THREADS // 2 and halves.",
        ),
        budgets=(
            Budget(names.SHARED_CONFLICTS_LD, 0, SMALL, "bank conflicts of shared loads"),
            Budget(names.SHARED_CONFLICTS_ST, 0, SMALL, "bank conflicts of shared stores"),
            Budget(names.DIVERGENT_BRANCHES, 65 * (5 + 1), SMALL, "branches that part a warp"),
        ),
    ),
    Exercise(
        "reduction/first_add",
        answer="kernels/reduction/s40_first_add.py",
        problem=LADDER,
        hints=(
            "In the first level of the tree, half of the threads are idle. Before it, each could add two values in a register.",
            "A block takes 2 * THREADS values then, and there are half as many blocks. Where does block b begin?",
            "i = cuda.blockIdx.x * PER_BLOCK + thread; the other value is at i + THREADS, and either may be past the end.",
        ),
        budgets=(
            _barriers(33 * 8 * 9),
            Budget(names.GLOBAL_SECTORS_LD, 4, LARGE, "sectors per load request", per=names.GLOBAL_REQUESTS_LD),
        ),
    ),
    Exercise(
        "reduction/shuffle_tail",
        answer="kernels/reduction/s50_shuffle_tail.py",
        problem=LADDER,
        hints=(
            "With stride 16 and below, only warp 0 works, yet all 8 warps wait at the barrier of each of five levels.",
            "cuda.shfl_down_sync(ALL_LANES, value, distance) is the value that the lane `distance` further on has; adding it "
            "on five levels, 16 to 1, leaves the sum in lane 0. All 32 lanes have to call it.",
            "The loop runs while stride >= WARP; after it 32 sums are left: if thread < WARP, total = warp_sum(tile[thread]).",
        ),
        budgets=(
            _barriers(33 * 8 * 4),
            Budget(names.SHARED_REQUESTS_LD, 33 * (2 * (4 + 2 + 1) + 1), SMALL, "shared load requests"),
        ),
    ),
    Exercise(
        "reduction/shuffle",
        answer="kernels/reduction/s60_shuffle.py",
        problem=LADDER,
        hints=(
            "It is right as it stands: 256 threads of a block add to one address, and the hardware does one after the other.",
            "warp_sum leaves a sum in lane 0 of each of 8 warps. These 8 meet in `sums`, and warp 0 adds them the same way.",
            "After the barrier, warp 0 calls warp_sum once more with all its lanes: the first WARPS have sums[thread], the "
            "others number(0). In the kernel, thread 0 adds what block_sum returns.",
        ),
        budgets=(_atomics(32, SMALL), _barriers(32 * 8)),
    ),
    Exercise(
        "reduction/many_per_thread",
        answer="kernels/reduction/s70_many_per_thread.py",
        problem=LADDER,
        hints=(
            "A register can take all 32 values of a thread before the block meets once: value = number(value + x[i]).",
            "The block's values are first to first + PER_BLOCK, and end at x.size. In each round the block takes 256 of them.",
            "i begins at first + cuda.threadIdx.x and goes on by THREADS: then the 32 lanes of a warp load 32 neighbours.",
        ),
        budgets=(
            _atomics(8, LARGE),
            _barriers(8 * 8, LARGE),
            Budget(names.GLOBAL_SECTORS_LD, 4, LARGE, "sectors per load request", per=names.GLOBAL_REQUESTS_LD),
        ),
    ),
    Exercise(
        "reduction/two_pass",
        answer="kernels/reduction/s90_two_pass.py",
        problem=_with(MANY_PARTIALS),
        hints=(
            "Sums of float32 depend on the order in which they are taken, and atomics take them in any order. Stores do not.",
            "Each block has a cell of partials, that of its own number; a single thread of it stores there.",
            "last_kernel is one block: thread t adds partials[t], partials[t + THREADS], … in a register; then block_sum, and "
            "thread 0 stores total[0].",
        ),
        budgets=(
            _atomics(0, LARGE),
            Budget(names.GLOBAL_REQUESTS_ST, 8 + 1, LARGE, "global store requests"),
            _barriers(9 * 8, LARGE),
        ),
    ),
    Exercise(
        "reduction/argmax",
        answer="kernels/reduction/argmax/s20_shuffle.py",
        problem=ARGMAX,
        hints=(
            "It is a sum by shuffles with pairs for values: beats(…) in the place of +, and two shuffles, for value and index.",
            "A value and its index have to stay together: shuffle both of them before either is replaced.",
            "In block_best, lane 0 of each warp stores its pair; after the barrier warp 0 takes these pairs, and its lanes "
            "from WARPS on take (WORST, NOBODY), which lose to anyone.",
        ),
        budgets=(_barriers(9 * 8, LARGE),),
    ),
)
