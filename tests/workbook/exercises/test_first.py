"""First kernels: wrong ones are told what is wrong with them, and right ones pass however they are written."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from workbook.exercises import entry
from workbook.exercises.first import EXERCISES
from workbook.exercises.result import Result, screen

Checked = Callable[..., Result]
Edits = tuple[tuple[str, str], ...]


def edited(word: str, edits: Edits) -> str:
    """The answer with each text replaced, which has to stand once in its code."""
    _, code = entry.find(f"first/{word}").answer_path.read_text(encoding="utf-8").split('\n"""\n')
    for old, new in edits:
        assert code.count(old) == 1, f"{old!r} stands {code.count(old)} times in the answer of {word}"
        code = code.replace(old, new)
    return code


WRONG = {
    # --- threads, guards ---
    "map without a guard": (
        "map",
        (("if i < out.shape[0]:", "if i >= 0:"),),
        r"read out of bounds.*a\[97\], but a has shape \(97,\)",
    ),
    "map in double precision": (
        "map",
        (("2 * a[i]", "1.9 * a[i] + 0.1 * a[i]"),),
        r"computes in double precision.*1\.9 \* a\[i\]",
    ),
    "map with all cells in every thread": (
        "map",
        (("if i < out.shape[0]:", "for i in range(out.shape[0]):"),),
        "right, but 49664 bytes stored, budget 388",
    ),
    "zip the other way round": ("zip", (("a[i] - b[i]", "b[i] - a[i]"),), "every cell is -1 times"),
    "zip that changes its input": (
        "zip",
        (("out[i] = a[i] - b[i]", "a[i] -= b[i]\n        out[i] = a[i]"),),
        r"changed its input: a\[",
    ),
    "zip with the number in the block": ("zip", (("cuda.grid(1)", "cuda.threadIdx.x"),), "as if block 0 were the only one"),
    "a guard of the longer array": (
        "guard",
        (("i < out.shape[0]", "i < a.shape[0]"),),
        r"read out of bounds.*a\[98\].*the element after the last one",
    ),
    "a guard of the longer array, stores only": (
        "guard",
        (("i < out.shape[0]", "i < a.shape[0]"), ("a[i + 1]", "a[min(i + 1, a.shape[0] - 1)]")),
        r"write out of bounds.*out\[97\]",
    ),
    "a guard that stops one early": ("guard", (("i < out.shape[0]", "i < out.shape[0] - 1"),), r"never written: element 96"),
    # --- grids of a constant size, which cover every small case ---
    "map with 64 blocks": ("map", (("ceil_div(out.shape[0], THREADS)", "64"),), "n=100003.*constant"),
    "blocks with 64 blocks": ("blocks", (("blocks = ceil_div(out.shape[0], THREADS)", "blocks = 64"),), "n=100003.*constant"),
    "blocks_2d with 10 x 24 blocks": (
        "blocks_2d",
        (("ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])", "10, 24"),),
        "rows=331 columns=317.*constant",
    ),
    "prefix_sum of 24 blocks": (
        "prefix_sum",
        (("range(cuda.blockIdx.x)", "range(min(cuda.blockIdx.x, 24))"),),
        "n=100003.*constant",
    ),
    # --- two axes ---
    "map_2d with x along the rows": (
        "map_2d",
        (("col, row = cuda.grid(2)", "row, col = cuda.grid(2)"),),
        r"never written: .*(rows|columns)",
    ),
    "map_2d guarded along rows only": ("map_2d", ((" and col < out.shape[1]", ""),), "out of bounds"),
    "broadcast of the row along the column (mojo#80)": (
        "broadcast",
        (("a[row] - b[col]", "a[col] - b[row]"),),
        r"out of bounds.*(a|b)\[",
    ),
    # --- blocks ---
    "reads by the block's own index, writes by the grid's (mojo#31)": (
        "blocks",
        (("a[i] * a[i]", "a[cuda.threadIdx.x] * a[cuda.threadIdx.x]"),),
        "only the first 32 of a are read, again and again",
    ),
    "one block only": ("blocks", (("blocks = ceil_div(out.shape[0], THREADS)", "blocks = 1"),), "block 0 were the only one"),
    "blocks rounded down": (
        "blocks",
        (("blocks = ceil_div(out.shape[0], THREADS)", "blocks = max(1, out.shape[0] // THREADS)"),),
        "never written: elements? 96",
    ),
    "a grid with rows along x": (
        "blocks_2d",
        (("ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])", "ceil_div(rows, BLOCK[1]), ceil_div(columns, BLOCK[0])"),),
        r"never written: .*(rows|columns)",
    ),
    "a mirror that is off by one": ("blocks_2d", (("out.shape[1] - 1 - col", "out.shape[1] - col"),), "read out of bounds"),
    "a window that wraps round": (
        "pooling",
        (("            if i >= back:\n    ", ""),),
        "count from the end",
    ),
    "a window of two": ("pooling", (("range(WINDOW)", "range(WINDOW - 1)"),), "wrong cells"),
    "threads without a stride": (
        "grid_stride",
        (("for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):", "i = cuda.grid(1)\n    if i < out.shape[0]:"),),
        "never written: elements 96",
    ),
    "a piece for each thread instead of strides": (
        "grid_stride",
        (
            ("for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):",
             "each = (out.shape[0] + 95) // 96\n    first = cuda.grid(1) * each\n"
             "    for i in range(first, min(first + each, out.shape[0])):"),
        ),
        r"right, but \d+ global load requests, budget 16",
    ),
    "a shared array of a size that comes late": (
        "typed",
        (("array(THREADS", "array(cuda.blockDim.x"),),
        "does not compile.*compile-time constant",
    ),
    "an expression of a whole array": (
        "typed",
        (("a[i] * slopes[x]", "(a * slopes[x])[i]"),),
        "does not compile.*array expression needs memory",
    ),
    # --- shared memory ---
    "a tile that nobody waits for": ("shared", (("    cuda.syncthreads()  # the tile is complete\n", ""),), "a race.*tile"),
    "a barrier for some": (
        "shared",
        (("    cuda.syncthreads()  # the tile", "        cuda.syncthreads()  # the tile"),),
        "a barrier that threads miss|come to the barrier",
    ),
    "the mirror of a full block in the last one": (
        "shared",
        (("tile[cells - 1 - x]", "tile[THREADS - 1 - x]"),),
        "nobody has written it",
    ),
    "no tile": ("shared", (("tile[x] - tile[cells - 1 - x]", "a[i] - a[i - x + cells - 1 - x]"),), "budget 7"),
    "a halo that nobody loads (mojo#220)": ("conv_1d", (("if x < HALO:", "if x < 0:"),), "nobody has written it"),
    "a tile without a halo (mojo#220)": (
        "conv_1d",
        (("TILE = THREADS + HALO", "TILE = THREADS"), ("if x < HALO:", "if x < 0:")),
        "out of bounds.*tile",
    ),
    "a convolution from global memory": (
        "conv_1d",
        (("total += tile[x + k] * w[k]", "total += (a[i + k] if i + k < a.shape[0] else float32(0)) * w[k]"),),
        "global load requests, budget 45",
    ),
    "a sum of cells that nobody wrote (puzzles#20)": (
        "dot",
        (("tile[x] = a[i] * b[i] if i < a.shape[0] else float32(0)", "if i < a.shape[0]:\n        tile[x] = a[i] * b[i]"),),
        "nobody has written it.*shared memory is not zero",
    ),
    "rounds without a barrier": (
        "dot",
        (("        cuda.syncthreads()  # the next round reads what this one wrote\n", ""),),
        r"a race.*tile\[x\] \+= tile\[x \+ step\]",
    ),
    "a barrier inside of the round's condition": (
        "dot",
        (("        cuda.syncthreads()  # the next", "            cuda.syncthreads()  # the next"),),
        "come to the barrier|a barrier that threads miss",
    ),
    "rounds that begin one too high": ("dot", (("step = THREADS // 2", "step = THREADS"),), "out of bounds.*tile"),
    "rows one column short": ("axis_sum", (("a.shape[1], THREADS", "a.shape[1] - 1, THREADS"),), "the last one is missing"),
    "rows of one block's width": (
        "axis_sum",
        (("range(x, a.shape[1], THREADS)", "range(x, min(THREADS, a.shape[1]), THREADS)"),),
        "only the first 64 count: the result is that of block 0 alone|stops at",
    ),
    "a sum that all threads store": (
        "axis_sum",
        (("    if x == 0:\n        out[row]", "    out[row]"),),
        "right, but 3328 bytes stored, budget 52",
    ),
    "rows that end at the first barrier": (
        "dot",
        (("    # gap: one product", "    if i >= a.shape[0]:\n        return\n    # gap: one product"),),
        "a barrier that threads miss.*no return before it",
    ),
    "a block that adds its own total as well": (
        "prefix_sum",
        (("range(cuda.blockIdx.x)", "range(cuda.blockIdx.x + 1)"),),
        r"331 of 331 cells are wrong",
    ),
    "rounds that nobody waits for": (
        "prefix_sum",
        (("        cuda.syncthreads()  # all have written\n", ""),),
        "a race.*tile",
    ),
    "the total of the block right before alone (mojo#81)": (
        "prefix_sum",
        (("for block in range(cuda.blockIdx.x):", "for block in range(max(0, cuda.blockIdx.x - 1), cuda.blockIdx.x):"),),
        r"the first is out\[128\]",
    ),
    "a round that reads and writes at once (mojo#26)": (
        "prefix_sum",
        (("        cuda.syncthreads()  # all have read\n", ""),),
        "a race.*tile",
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_kernel_is_told_what_is_wrong(checked: Checked, case: str) -> None:
    word, edits, says = WRONG[case]
    result = checked(edited(word, edits), f"first/{word}")
    text = "\n".join(screen(result))
    assert not result.passed
    assert re.search(says, text, flags=re.DOTALL), text
    assert len(text.splitlines()) <= 24


OTHERWISE = {
    "map": (("out[i] = 2 * a[i]", "out[i] = a[i] + a[i]"),),
    "zip": (("i = cuda.grid(1)", "i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x"),),
    "guard": (("if i < out.shape[0]:\n        ", "if i >= out.size:\n        return\n    "),),
    "map_2d": (
        ("from numba import cuda", "import numpy as np\nfrom numba import cuda"),
        ("col, row = cuda.grid(2)", "x, y = cuda.grid(2)"),
        ("if row < out.shape[0] and col < out.shape[1]:", "rows, columns = out.shape\n    if x < columns and y < rows:"),
        ("out[row, col] = 3 * a[row, col]", "out[y, x] = a[y][x] * np.float32(3)"),
    ),
    "broadcast": (
        ("out[row, col] = a[row] - b[col]", "cell = -b[col]\n        cell += a[row]\n        out[row][col] = cell"),
    ),
    "blocks": (("blocks = ceil_div(out.shape[0], THREADS)", "blocks = out.shape[0] // THREADS + 1"),),
    "blocks_2d": (("grid = ceil_div(columns, BLOCK[0]), ceil_div(rows, BLOCK[1])", "grid = columns, rows"),),
    "pooling": (
        ("for back in range(WINDOW):", "for cell in range(max(0, i - WINDOW + 1), i + 1):"),
        ("            if i >= back:\n                total += a[i - back]", "            total += a[cell]"),
    ),
    "grid_stride": (
        ("for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):",
         "i = cuda.grid(1)\n    while i < len(out):"),
        ("out[i] = 1 - a[i]", "out[i] = 1 - a[i]\n        i += cuda.gridDim.x * cuda.blockDim.x"),
    ),
    "typed": (("slopes = cuda.shared.array(THREADS, float32)", "slopes = cuda.shared.array((32,), dtype=float32)"),),
    "shared": (
        ("if i < a.shape[0]:\n        tile[x] = a[i]", "if x < cells:\n        tile[x] = a[cuda.blockIdx.x * THREADS + x]"),
    ),
    "conv_1d": (
        ("tile[x] = a[i] if i < a.shape[0] else float32(0)\n    if x < HALO:\n        behind = i + THREADS\n"
         "        tile[x + THREADS] = a[behind] if behind < a.shape[0] else float32(0)",
         "for cell in range(x, TILE, THREADS):\n        source = i - x + cell\n        tile[cell] = float32(0)\n"
         "        if source < a.shape[0]:\n            tile[cell] = a[source]"),
    ),
    "dot": (
        ("step = THREADS // 2\n    while step > 0:", "step = 1\n    while step < THREADS:"),
        ("if x < step:\n            tile", "if x % (2 * step) == 0:\n            tile"),
        ("step //= 2", "step *= 2"),
    ),
    "axis_sum": (
        ("for col in range(x, a.shape[1], THREADS):\n        total += a[row, col]",
         "col = x\n    while col < a.shape[1]:\n        total += a[row, col]\n        col += cuda.blockDim.x"),
    ),
    "prefix_sum": (
        ("for block in range(cuda.blockIdx.x):\n            total += totals[block]",
         "block = cuda.blockIdx.x\n        while block > 0:\n            block -= 1\n            total += totals[block]"),
        ("before = tile[x - step] if x >= step else float32(0)",
         "before = float32(0)\n        if x >= step:\n            before = tile[x - step]"),
    ),
}  # fmt: skip


@pytest.mark.many
@pytest.mark.parametrize("word", OTHERWISE)
def test_a_right_kernel_passes_although_it_is_written_in_another_way(checked: Checked, word: str) -> None:
    result = checked(edited(word, OTHERWISE[word]), f"first/{word}")
    assert result.passed, "\n".join(screen(result))


def test_every_first_kernel_has_another_right_form_and_a_wrong_one() -> None:
    words = [exercise.word for exercise in EXERCISES]
    assert list(OTHERWISE) == words
    assert {word for word, _, _ in WRONG.values()} == set(words)


def test_problems_are_ragged_and_have_several_blocks() -> None:
    """The largest case of each has at least three blocks, and is no multiple of a block along any axis of its threads."""
    for exercise in EXERCISES:
        largest = exercise.problem.cases[-1]
        assert all(size > 1 for size in largest.values())
        assert any(size % 32 for case in exercise.problem.cases for size in case.values()), exercise.name
        if "rows" in largest:
            assert any(case["rows"] != case["columns"] for case in exercise.problem.cases)


def test_a_large_case_is_ragged_and_stands_for_every_problem_with_a_grid_that_grows() -> None:
    for exercise in entry.exercises(("first", "detective")):
        assert (exercise.large is None) == ("k" in exercise.checked_case), exercise.name
        if exercise.large is not None:
            assert exercise.large.keys() == exercise.checked_case.keys() and exercise.large not in exercise.problem.cases
            assert all(size % 4 for size in exercise.large.values()) and exercise.checked_case == exercise.checked
