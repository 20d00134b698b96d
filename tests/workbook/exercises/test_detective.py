"""The detective's kernels: each shows the evidence of its own bug, and nothing else is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

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
        r"tile\[x\] \+= tile\[x \+ step\], and thread \(\d+, 0, 0\) .* reads it at .*within one warp cuda\.syncwarp",
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
