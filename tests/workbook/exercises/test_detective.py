"""The detective's kernels: each shows the evidence of its own bug, and nothing else is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.workbook.exercises.test_reduction_and_quant import Edit, answer
from workbook.exercises import entry, stubs
from workbook.exercises.detective import EXERCISES
from workbook.exercises.result import Result, screen

Checked = Callable[..., Result]

# What the screen of each stub says: (kind of trouble, a pattern for the whole screen, the code of the line it names).
EVIDENCE = {
    "picture": ("wrong", r"never written: columns 32\.\.36", None),
    "project": ("wrong", "columns is 41, but the result stops at 40: the last one is missing", None),
    "smooth": (
        "race",
        r"writes tile\[…\].*tile\[x \+ 1\] = load\(a, i\), and thread .* reads it at .*out\[i\] = .*syncthreads\(\) between",
        "tile[x + 1] = load(a, i)",
    ),
    "histogram": ("init", r"atomic\.add\(counts, a\[i\], 1\), and nobody has written it.*not zero", "cuda.atomic.add"),
    "largest": ("sync", "whole warps of the block end without coming to this barrier", "cuda.syncthreads()"),
    "level": ("float64", "computes in double precision", "total += abs(a[row, col])"),
    "energy": ("wrong", r"on .* loud inputs.*off by multiples of 2\*\*32", None),
    "product": (
        "race",
        r"writes tile_a\[…\].*tile_a\[y, x\] = .*, and thread .* reads it at .*total \+= .*syncwarp\(\), between the two lines",
        "tile_a[y, x] =",
    ),
    "total": (
        "race",
        r"tile\[x\] \+= tile\[x \+ step\], and thread \(\d+, 0, 0\) .* reads it at .*read first, then cuda\.syncwarp",
        "tile[x] += tile[x + step]",
    ),
    "headroom": (
        "race",
        r"writes tile\[…\].*tile\[x\] = largest - a\[i\].*, and thread .* reads it at .*largest = tile\[0\].*between the two",
        None,
    ),
}


@pytest.mark.parametrize("word", EVIDENCE)
def test_the_screen_shows_the_evidence_of_the_planted_bug(checked: Checked, word: str) -> None:
    exercise = entry.find(f"detective/{word}")
    source = stubs.stub(exercise)
    kind, says, line = EVIDENCE[word]
    result = checked(source, exercise.name)
    text = "\n".join(screen(result))
    assert result.trouble is not None and result.trouble.kind == kind, text
    assert re.search(says, text, flags=re.DOTALL), text
    if line is not None:
        assert result.trouble.line is not None, text
        assert line in source.splitlines()[result.trouble.line - 1], text


@pytest.mark.parametrize("word", EVIDENCE)
def test_the_mended_kernel_passes(checked: Checked, word: str) -> None:
    exercise = entry.find(f"detective/{word}")
    result = checked(exercise.answer_path.read_text(encoding="utf-8"), exercise.name)
    assert result.passed, "\n".join(screen(result))


LOWEST = 'LOWEST = -float("inf")'
IMPORT_INT16 = ("from numba import cuda, int32, int64", "from numba import cuda, int16, int32, int64")

# what is wrong: the exercise, the edits of its answer, and words of the screen
WRONG: dict[str, tuple[str, tuple[Edit, ...], str]] = {
    "a grid that is square": ("picture", (("ceil_div(rows, BLOCK[1])", "ceil_div(columns, BLOCK[1])"),), "never written"),
    "a negative that is only one": ("picture", (("= 1 - a[row, col]\n", "= -a[row, col]\n"),), "cells are wrong"),
    "a loop over the rows": ("project", (("range(a.shape[1])", "range(a.shape[0])"),), "out of bounds|cells are wrong"),
    "a barrier in front of the stores": (
        "smooth",
        (
            ("    cuda.syncthreads()  # the tile is complete\n", ""),
            ("    tile[x + 1] =", "    cuda.syncthreads()\n    tile[x + 1] ="),
        ),
        "a race",
    ),
    "bins that nobody waits for": ("histogram", (("    cuda.syncthreads()  # all counts are 0\n", ""),), "a race"),
    "half of the bins": (
        "histogram",
        (("    if x < BINS:\n        counts[x] = 0", "    if x < BINS // 2:\n        counts[x] = 0"),),
        "nobody has written",
    ),
    "zero for the lowest": ("largest", ((LOWEST, "LOWEST = 0.0"),), "large negative inputs"),
    "a low number for the lowest": ("largest", ((LOWEST, "LOWEST = -1e9"),), "large negative inputs"),
    "the lowest finite number for the lowest": ("largest", ((LOWEST, "LOWEST = -3.4e38"),), "infinitely low inputs"),
    "no magnitude": ("level", (("abs(a[row, col])", "a[row, col]"),), "cells are wrong"),
    "a product of 16 bits": ("energy", (("value * value", "int16(value * value)"), IMPORT_INT16), "2\\*\\*16|cells are wrong"),
    "tiles that nobody waits for": (
        "product",
        (("        cuda.syncthreads()\n        for i in range(TILE):\n", "        for i in range(TILE):\n"),),
        "a race",
    ),
    "half of the waits": ("total", (("            cuda.syncwarp()  # all have read\n", ""),), "a race"),
    "the other half": ("total", (("            cuda.syncwarp()  # all have written\n", ""),), "a race"),
    "zero for the lowest of all": ("headroom", ((LOWEST, "LOWEST = 0.0"),), "large negative inputs"),
    "a low number for the lowest of all": ("headroom", ((LOWEST, "LOWEST = -1e9"),), "large negative inputs"),
    "threads past the end count": (
        "headroom",
        (("largest - a[i] if i < a.shape[0] else float32(0)", "largest - a[min(i, a.shape[0] - 1)]"),),
        "1 of 4 cells is wrong",
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("what", WRONG)
def test_another_mistake_in_the_mended_kernel_is_found_too(checked: Checked, what: str) -> None:
    word, edits, says = WRONG[what]
    result = checked(answer(f"detective/{word}", *edits), f"detective/{word}")
    text = "\n".join(screen(result))
    assert not result.passed and re.search(says, text, flags=re.DOTALL), text


def test_a_halo_may_be_stored_after_the_barrier_where_only_its_own_thread_reads_it(checked: Checked) -> None:
    edits = (
        ("    cuda.syncthreads()  # the tile is complete\n", ""),
        ("    if x == 0:\n", "    cuda.syncthreads()\n    if x == 0:\n"),
    )
    assert checked(answer("detective/smooth", *edits), "detective/smooth").passed


def test_every_kernel_of_the_detective_has_another_mistake() -> None:
    assert {word for word, *_ in WRONG.values()} == set(EVIDENCE)


def test_every_case_has_its_evidence_and_no_name_gives_the_bug_away() -> None:
    assert [exercise.word for exercise in EXERCISES] == list(EVIDENCE)
    for exercise in EXERCISES:
        stub = stubs.stub(exercise)
        assert "Mend:     the one bug" in stub
        assert not re.search(r"planted|instead|Answer|# TODO", stub)


def test_a_stub_and_its_answer_differ_in_three_lines_at_most() -> None:
    """One bug each: what is planted is small enough to be the only difference."""
    for exercise in EXERCISES:
        source = exercise.answer_path.read_text(encoding="utf-8")
        regions = [lines for kind, _, lines in stubs.answer_regions(source) if kind == "planted"]
        assert len(regions) == 1, exercise.name
        assert len(regions[0]) <= 4, exercise.name
