"""The gaps of reduction and quant: the step before and what goes wrong are rejected, each by the check meant for it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.workbook.exercises.test_check import text
from workbook.exercises import entry
from workbook.exercises.result import Result

Checked = Callable[..., Result]
Edit = tuple[str, str]

TRACKS = ("reduction", "quant")


def answer(name: str, *edits: Edit) -> str:
    """The answer of an exercise after these edits of its text, (old, new), each of which fits one place."""
    return edited(entry.find(name).answer_path.read_text(), *edits)


def edited(source: str, *edits: Edit) -> str:
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
        source = source.replace(old, new)
    return source


# exercise: the file of the step before, and the number that gives it away; the files are right all the same
BEFORE = {
    "reduction/strided_index": ("reduction/s10_interleaved", "right, but 3120 branches that part a warp, budget 390"),
    "reduction/sequential": ("reduction/s20_strided_index", "right, but .* bank conflicts of shared loads, budget 0"),
    "reduction/first_add": ("reduction/s30_sequential", "right, but 4680 arrivals of warps at barriers, budget 2376"),
    "reduction/shuffle_tail": ("reduction/s40_first_add", "right, but 2376 arrivals of warps at barriers, budget 1056"),
    "reduction/shuffle": ("reduction/s50_shuffle_tail", "right, but 1056 arrivals of warps at barriers, budget 256"),
    "reduction/many_per_thread": ("reduction/s60_shuffle", "right, but 128 atomics of warps on global memory, budget 8"),
    "reduction/two_pass": ("reduction/s80_vectorised", "right, but 8 atomics of warps on global memory, budget 0"),
    "reduction/argmax": ("reduction/argmax/s10_shared_tree", "right, but 648 arrivals of warps at barriers, budget 72"),
    "quant/block_per_row": ("quant/quantise/s10_thread_per_row", "right, but .* sectors per load request, budget 4"),
    "quant/warp_per_row": ("quant/quantise/s20_block_per_row", "right, but 9216 arrivals of warps at barriers, budget 0"),
    "quant/int8_naive": ("quant/int8_matmul/s10_dequantise", "right, but 2154496 bytes that loads ask for, budget 589824"),
    "quant/int8_dp4a": ("quant/int8_matmul/s30_tiled", "right, but 32768 shared load requests, budget 8192"),
    "quant/int8_fused": ("quant/int8_matmul/s50_register_tiled", "right, but 131072 bytes that stores write, budget 65536"),
    "quant/gemv_int8": ("quant/dequant_gemv/s10_dequantise", "right, but 425984 bytes that loads ask for, budget 164864"),
    "quant/gemv_int4": ("quant/dequant_gemv/s20_fused_int8", "right, but 164864 bytes that loads ask for, budget 148480"),
    "quant/gemv_warp": ("quant/dequant_gemv/s30_int4", "right, but 17472 sectors that loads touch, budget 9216"),
}


@pytest.mark.many
@pytest.mark.parametrize("name", BEFORE)
def test_the_step_before_is_right_but_over_the_budget(checked: Checked, name: str) -> None:
    module, says = BEFORE[name]
    source = (entry.PROJECT / "kernels" / f"{module}.py").read_text()
    result = checked(source, name)
    assert result.trouble is not None and result.trouble.kind == "budget", text(result)
    assert re.fullmatch(says, result.trouble.title), text(result)


# what is wrong: the exercise, the edits of its answer, the kind of trouble, and words of the screen
WRONG: dict[str, tuple[str, tuple[Edit, ...], str, str]] = {
    # --- reduction ---
    "pairs past the tile": (
        "reduction/strided_index",
        (("if left < THREADS:", "if thread < THREADS:"),),
        "bounds",
        "out of bounds",
    ),
    "one barrier for the whole tree": (
        "reduction/strided_index",
        (("        cuda.syncthreads()  # the sums of this level are complete\n", ""),),
        "race",
        "tile",
    ),
    "the tree begins a level late": (
        "reduction/sequential",
        (("stride = THREADS // 2", "stride = THREADS // 4"),),
        "wrong",
        "stops at 128",
    ),
    "the tree ends a level early": ("reduction/sequential", (("stride > 0", "stride > 1"),), "wrong", "n=40009"),
    "no barrier between levels": (
        "reduction/sequential",
        (("        cuda.syncthreads()  # the sums of this level are complete\n", ""),),
        "race",
        "tile",
    ),
    "a barrier for the threads that add only": (
        "reduction/sequential",
        (("        cuda.syncthreads()  # the sums of this level are complete\n", "            cuda.syncthreads()\n"),),
        "sync",
        "4 whole warps of the block end without coming",
    ),
    "the second value without a guard": (
        "reduction/first_add",
        ((" if i + THREADS < x.size else number(0)", ""),),
        "bounds",
        "out of bounds",
    ),
    "blocks overlap": ("reduction/first_add", (("PER_BLOCK = 2 * THREADS", "PER_BLOCK = THREADS"),), "wrong", "n=40009"),
    "the second value is the neighbour's": (
        "reduction/first_add",
        (("x[i + THREADS] if i + THREADS", "x[i + 1] if i + 1"),),
        "wrong",
        "n=40009",
    ),
    "two neighbours per thread": (
        "reduction/first_add",
        (("PER_BLOCK + thread", "PER_BLOCK + 2 * thread"), ("x[i + THREADS] if i + THREADS", "x[i + 1] if i + 1")),
        "budget",
        "sectors per load request",
    ),
    "a warp in step": (
        "reduction/shuffle_tail",
        (
            (
                "        total = warp_sum(tile[thread])\n",
                "        while stride > 0:\n            tile[thread] += tile[thread + stride]\n"
                "            cuda.threadfence_block()\n"
                "            stride //= 2\n        total = tile[0]\n",
            ),
        ),
        "race",
        "nothing says which comes first",
    ),
    "sixteen lanes at a shuffle of 32": (
        "reduction/shuffle_tail",
        (("if thread < WARP:", "if thread < WARP // 2:"),),
        "sync",
        "a lane that does not take part",
    ),
    "distances that rise and stop at 8": (
        "reduction/shuffle_tail",
        (("(16, 8, 4, 2, 1)", "(1, 2, 4, 8)"),),
        "wrong",
        "wrong result on n=",
    ),
    "no barrier before the warps' sums are read": (
        "reduction/shuffle",
        (("    cuda.syncthreads()  # the sums of all warps are there\n", ""),),
        "race",
        "sums",
    ),
    "lanes without a warp read on": (
        "reduction/shuffle",
        (("sums[thread] if thread < WARPS else number(0)", "sums[thread]"),),
        "bounds",
        "index 8, counted in elements",
    ),
    "an atomic of every warp": (
        "reduction/shuffle",
        (
            ("block_sum(number(first + second), sums)", "warp_sum(number(first + second))"),
            ("if cuda.threadIdx.x == 0:", "if cuda.threadIdx.x % WARP == 0:"),
        ),
        "budget",
        "atomics",
    ),
    "every thread adds the block's sum": (
        "reduction/shuffle",
        (("if cuda.threadIdx.x == 0:", "if cuda.threadIdx.x < WARP:"),),
        "wrong",
        "wrong result on n=40009",
    ),
    "32 neighbours per thread": (
        "reduction/many_per_thread",
        (
            (
                "range(first + cuda.threadIdx.x, min(first + PER_BLOCK, x.size), THREADS)",
                "range(first + 32 * cuda.threadIdx.x, min(first + 32 * cuda.threadIdx.x + 32, x.size))",
            ),
        ),
        "budget",
        "sectors per load request",
    ),
    "no end of x": (
        "reduction/many_per_thread",
        (("min(first + PER_BLOCK, x.size)", "first + PER_BLOCK"),),
        "bounds",
        "the last index is 40008",
    ),
    "to the end of x in every block": (
        "reduction/many_per_thread",
        (("min(first + PER_BLOCK, x.size)", "x.size"),),
        "wrong",
        "wrong result on n=40009",
    ),
    "all blocks take the first values": (
        "reduction/many_per_thread",
        (("first = cuda.blockIdx.x * PER_BLOCK", "first = 0"),),
        "wrong",
        "wrong result on n=40009",
    ),
    "doubles in a register": (
        "reduction/many_per_thread",
        (
            ("    value = number(0)\n", "    value = 0.0\n"),
            ("value = number(value + x[i])", "value += x[i]"),
            ("block_sum(value, sums)", "block_sum(number(value), sums)"),
        ),
        "float64",
        "float32",
    ),
    "one partial sum per thread at most": (
        "reduction/two_pass",
        (
            (
                "    for i in range(cuda.threadIdx.x, partials.size, THREADS):\n        value = number(value + partials[i])\n",
                "    if cuda.threadIdx.x < partials.size:\n        value = partials[cuda.threadIdx.x]\n",
            ),
        ),
        "wrong",
        "wrong result on n=2105345",
    ),
    "every thread stores to partials": (
        "reduction/two_pass",
        (("    if cuda.threadIdx.x == 0:\n        partials", "    if cuda.threadIdx.x >= 0:\n        partials"),),
        "race",
        "both write partials",
    ),
    "all blocks store to one cell": (
        "reduction/two_pass",
        (("partials[cuda.blockIdx.x] =", "partials[0] ="),),
        "race",
        "both write partials.*nobody has written it",
    ),
    "the larger value, not the better pair": (
        "reduction/argmax",
        (("if beats(other, other_index, value, index)", "if other > value"),),
        "wrong",
        "integer-valued inputs",
    ),
    "the index travels after its value": (
        "reduction/argmax",
        (
            ("        other_index = cuda.shfl_down_sync(ALL_LANES, index, distance)\n", ""),
            (
                "            value, index = other, other_index\n",
                "            value = other\n        index = cuda.shfl_down_sync(ALL_LANES, index, distance)\n",
            ),
            ("beats(other, other_index, value, index)", "beats(other, index, value, index)"),
        ),
        "wrong",
        "integer-valued inputs",
    ),
    "zeros for lanes without a warp": (
        "reduction/argmax",
        (("value, index = WORST, NOBODY", "value, index = float32(0), int32(0)"),),
        "wrong",
        "zero or negative inputs",
    ),
    # --- quant ---
    "a row ends a column early": (
        "quant/thread_per_row",
        (
            (
                "        for col in range(x.shape[1]):\n            absmax",
                "        for col in range(x.shape[1] - 1):\n            absmax",
            ),
        ),
        "wrong",
        "stops at 388: the last one is missing",
    ),
    "codes cut off": (
        "quant/thread_per_row",
        (("code_of(x[row, col], row_scale)", "x[row, col] / row_scale"),),
        "wrong",
        "q: .* of 39289 cells are wrong",
    ),
    "the largest, not the largest magnitude": (
        "quant/thread_per_row",
        (("max(absmax, magnitude(x[row, col]))", "max(absmax, magnitude(max(x[row, col], 0 * x[row, col])))"),),
        "wrong",
        "scale: .* of 101 cells are wrong",
    ),
    "one code for the scale of another row": (
        "quant/thread_per_row",
        (("scale[row] = row_scale", "scale[x.shape[0] - 1 - row] = row_scale"),),
        "wrong",
        "scale: .* of 101 cells are wrong",
    ),
    "a barrier inside the if": (
        "quant/block_per_row",
        (("        cuda.syncthreads()  # the next round", "            cuda.syncthreads()  # the next round"),),
        "race",
        "4 whole warps of the block end without coming",
    ),
    "no barrier in the tree": (
        "quant/block_per_row",
        (("        cuda.syncthreads()  # the next round reads what this one wrote\n", ""),),
        "race",
        "maxima",
    ),
    "columns in pieces": (
        "quant/block_per_row",
        (
            (
                "    for col in range(thread, x.shape[1], THREADS):\n        absmax",
                "    share = -(-x.shape[1] // THREADS)\n"
                "    for col in range(thread * share, min(thread * share + share, x.shape[1])):\n        absmax",
            ),
        ),
        "budget",
        "sectors per load request",
    ),
    "only as many columns as threads": (
        "quant/block_per_row",
        (
            (
                "    for col in range(thread, x.shape[1], THREADS):\n        q[",
                "    for col in range(thread, min(x.shape[1], THREADS)):\n        q[",
            ),
        ),
        "wrong",
        r"never written: within columns 256\.\.388",
    ),
    "only lane 0 knows the largest": (
        "quant/warp_per_row",
        (("shfl_xor_sync", "shfl_down_sync"),),
        "wrong",
        "q: .* cells are wrong",
    ),
    "half of the warp": (
        "quant/warp_per_row",
        (("distance = WARP // 2", "distance = WARP // 4"),),
        "wrong",
        "columns is 31, but the result stops at 16",
    ),
    "the scale of the other axis": (
        "quant/int8_naive",
        (("(scale_a[row] * scale_b[col])", "(scale_a[col] * scale_b[row])"),),
        "bounds",
        r"scale_a\[\d+\], but scale_a has shape",
    ),
    "the bias is scaled": (
        "quant/int8_naive",
        (
            (
                "float32(sums[row, col]) * (scale_a[row] * scale_b[col]) + bias[col]",
                "(float32(sums[row, col]) + bias[col]) * (scale_a[row] * scale_b[col])",
            ),
        ),
        "wrong",
        "wrong result on m=257",
    ),
    "one barrier per round": (
        "quant/int8_dp4a",
        (("        cuda.syncthreads()  # nobody reloads while others still read\n", ""),),
        "race",
        "tile",
    ),
    "words of the wrong row": (
        "quant/int8_dp4a",
        (("tile_b[x, i], total", "tile_b[i, x], total"),),
        "wrong",
        "of 99716 cells are wrong",
    ),
    "no guard at the end of k": (
        "quant/int8_dp4a",
        (("inside = k0 + x < a.shape[1]", "inside = True"),),
        "bounds",
        "but b has shape",
    ),
    "conflicts": ("quant/int8_dp4a", (("ROW = TILE + 1", "ROW = TILE"),), "budget", "bank conflicts"),
    "no guard at the last row": (
        "quant/int8_fused",
        (
            (
                "                if y < c.shape[0]:\n                    c[y, x] =",
                "                if y < c.shape[0] + 1:\n                    c[y, x] =",
            ),
        ),
        "bounds",
        "Off by one row",
    ),
    "a scale for each weight": (
        "quant/gemv_int8",
        (
            ("float32(codes[row, i])\n", "float32(codes[row, i]) * scales[row, i // GROUP]\n"),
            ("part * scales[row, group]", "part"),
        ),
        "budget",
        "bytes that loads ask for",
    ),
    "the last group is as long as the others": (
        "quant/gemv_int8",
        (("min(first + GROUP, codes.shape[1])", "first + GROUP"),),
        "bounds",
        "but codes has shape",
    ),
    "one scale for the row": (
        "quant/gemv_int8",
        (("scales[row, group]", "scales[row, 0]"),),
        "wrong",
        "of 505 cells are wrong",
    ),
    "the high code first": (
        "quant/gemv_int4",
        (
            ("x[batch, i] * low(pair)", "x[batch, i] * high(pair)"),
            ("x[batch, i + 1] * high(pair)", "x[batch, i + 1] * low(pair)"),
        ),
        "wrong",
        "of 505 cells are wrong",
    ),
    "codes without sign": (
        "quant/gemv_int4",
        (("float32(((pair & 15) ^ 8) - 8)", "float32(pair & 15)"),),
        "wrong",
        "of 505 cells are wrong",
    ),
    "a code past an odd k": ("quant/gemv_int4", (("                if i + 1 < k:\n    ", ""),), "bounds", "but x has shape"),
    "lanes in pieces": (
        "quant/gemv_warp",
        (
            (
                "range(lane, packed.shape[1], WARP)",
                "range(lane * (-(-packed.shape[1] // WARP)), min((lane + 1) * (-(-packed.shape[1] // WARP)), packed.shape[1]))",
            ),
        ),
        "budget",
        "sectors",
    ),
    "the scale of the byte's number": (
        "quant/gemv_warp",
        (("scales[row, 2 * i // GROUP]", "scales[row, i // GROUP]"),),
        "wrong",
        "of 505 cells are wrong",
    ),
    "the sum of sixteen lanes": ("quant/gemv_warp", (("(16, 8, 4, 2, 1)", "(8, 4, 2, 1)"),), "wrong", "of 505 cells are wrong"),
}


@pytest.mark.many
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_rejected_by_the_check_meant_for_it(checked: Checked, what: str) -> None:
    name, edits, kind, says = WRONG[what]
    result = checked(answer(name, *edits), name)
    assert result.trouble is not None and result.trouble.kind == kind, text(result)
    assert re.search(says, text(result), flags=re.DOTALL), text(result)


# how else it can be written: the exercise, and the edits of its answer
RIGHT: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "the upper half backwards": (
        "reduction/sequential",
        (
            (
                "tile[thread] += tile[thread + stride]\n        cuda.syncthreads()",
                "tile[thread] += tile[2 * stride - 1 - thread]\n        cuda.syncthreads()",
            ),
        ),
    ),
    "the sum in every lane": ("reduction/shuffle_tail", (("shfl_down_sync", "shfl_xor_sync"),)),
    "one thread adds the warps' sums": (
        "reduction/shuffle",
        (
            (
                "    if thread < WARP:\n        value = warp_sum(sums[thread] if thread < WARPS else number(0))\n",
                "    if thread == 0:\n        for i in range(1, WARPS):\n            value = number(value + sums[i])\n",
            ),
        ),
    ),
    "a loop that counts by itself": (
        "reduction/many_per_thread",
        (
            (
                "    for i in range(first + cuda.threadIdx.x, min(first + PER_BLOCK, x.size), THREADS):\n"
                "        value = number(value + x[i])\n",
                "    i = first + cuda.threadIdx.x\n    while i < x.size and i < first + PER_BLOCK:\n"
                "        value = number(value + x[i])\n        i += THREADS\n",
            ),
        ),
    ),
    "partial sums from the end": (
        "reduction/two_pass",
        (("range(cuda.threadIdx.x, partials.size, THREADS)", "range(partials.size - 1 - cuda.threadIdx.x, -1, -THREADS)"),),
    ),
    "distances that rise": ("reduction/argmax", (("(16, 8, 4, 2, 1)", "(1, 2, 4, 8, 16)"),)),
    "a tree with rising strides": (
        "quant/block_per_row",
        (
            ("half = THREADS // 2", "half = 1"),
            ("while half > 0:", "while half < THREADS:"),
            ("        if thread < half:", "        if thread % (2 * half) == 0:"),
            ("half //= 2", "half *= 2"),
        ),
    ),
    "lane 0 tells the others": (
        "quant/warp_per_row",
        (("shfl_xor_sync", "shfl_down_sync"), ("    return absmax\n", "    return cuda.shfl_sync(ALL_LANES, absmax, 0)\n")),
    ),
    "from the end of k": ("quant/int8_naive", (("range(a.shape[1])", "range(a.shape[1] - 1, -1, -1)"),)),
    "signs by comparison": (
        "quant/gemv_int4",
        (
            ("float32(((pair & 15) ^ 8) - 8)", "float32((pair & 15) - (16 if pair & 8 else 0))"),
            ("float32(int8(pair) >> 4)", "float32((pair >> 4) - (16 if pair > 127 else 0))"),
        ),
    ),
    "the row's sum in every lane": ("quant/gemv_warp", (("shfl_down_sync", "shfl_xor_sync"),)),
}


@pytest.mark.many
@pytest.mark.parametrize("how", RIGHT)
def test_a_right_answer_passes_however_it_is_written(checked: Checked, how: str) -> None:
    name, edits = RIGHT[how]
    result = checked(answer(name, *edits), name)
    assert result.passed, text(result)


@pytest.mark.parametrize("exercise", entry.exercises(TRACKS), ids=lambda exercise: exercise.name)
def test_what_is_checked_for_races_has_an_odd_size(exercise: entry.Exercise) -> None:
    assert any(size % 2 for size in exercise.checked_case.values())
