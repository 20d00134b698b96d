"""Stubs are cut from answers: by their markers, valid Python, without what gives the answer away."""

from __future__ import annotations

import ast
import re

import pytest

from kernels.fingerprint import code_tokens
from workbook.exercises import entry, stubs
from workbook.exercises.stubs import BrokenMarkers, cut

EXERCISES = entry.exercises()
GAPS_OF_STEPS = [exercise for exercise in EXERCISES if exercise.answer.startswith("kernels")]

ANSWER = '''"""Doubles.

Changed:    from one: twice,
            as said
Why faster: it is not
Answer: add it to itself
and smile
"""

from math import ceil, floor, sqrt

import os

LIMIT = sqrt(4)
SIZE = 3


def double(x):
    # gap: double it | 2 lines
    # as often as you like
    y = floor(x)

    return y + y
    # end gap


def halve(x):
    # planted
    return x / 2
    # instead
    #- if x:
    #-     return x // 2
    # end planted


def cost(case):
    return LIMIT * SIZE


# what it costs
CLAIMS = (ceil(2.5), os.name)
'''

STUB = '''# Exercise some/word: complete this file, then run  ./ladder exercise check some/word
"""Doubles.

Why faster: it is not
"""

from math import floor


def double(x):
    # TODO: double it (2 lines)
    pass


def halve(x):
    if x:
        return x // 2
'''


def test_a_stub_has_the_task_for_the_answer_and_the_bug_for_what_is_planted() -> None:
    assert cut(ANSWER.replace("SIZE = 3\n", ""), "some.py", "some/word") == STUB.replace("SIZE = 3\n", "")


def test_a_constant_that_something_else_uses_stays() -> None:
    assert "SIZE = 3" in cut(ANSWER.replace("x / 2", "x / SIZE"), "some.py", "some/word")


def test_a_gap_may_have_a_placeholder() -> None:
    source = "# gap: set it | 1 line\nx = 1\n# instead\n#- x = 0\n# end gap\n"
    assert cut(source, "some.py", "some/word").endswith("# TODO: set it (1 line)\nx = 0\n")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n", r"f\.py: nothing is marked"),
        ("x = 1\n# gap: do | 1 line\nx = 2\n", r"f\.py:2: the gap has no `# end gap`"),
        ("# end gap\n", r"f\.py:1: # end gap without a beginning"),
        ("# gap: do\nx = 2\n# end gap\n", r"f\.py:1: a gap reads"),
        ("# gap: do | 2 lines\nx = 2\n# end gap\n", r"f\.py:3: the gap of line 1 promises 2 lines, its answer has 1"),
        ("# gap: do | 1 line\nx = 2\n# end planted\n", r"f\.py:3: # end planted closes the gap of line 1"),
        ("# gap: do | 1 line\n# planted\n", r"f\.py:2: a region begins inside that of line 1"),
        ("# planted\nx = 2\n# end planted\n", r"f\.py:3: what is planted needs an `# instead`"),
        ("# planted\nx = 2\n# instead\nx = 3\n", r"f\.py:4: after `# instead`, lines read `#- code`"),
        ("# planted\nx = 2\n# instead\n#- x = 3\n# instead\n", r"f\.py:5: a second `# instead`"),
        ("x = 1\n# Gap do it\n", r"f\.py:2: no such marker: # Gap do it"),
        ("# planted\nx = 2\n# instead\n#- x = (\n# end planted\n", r"f\.py: its stub is no valid Python"),
    ],
)  # fmt: skip
def test_broken_markers_are_told_with_file_and_line(source: str, message: str) -> None:
    with pytest.raises(BrokenMarkers, match=message):
        cut(source, "f.py", "some/word")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_every_stub_is_valid_python_and_without_markers(exercise: entry.Exercise) -> None:
    stub = stubs.stub(exercise)
    compile(stub, exercise.name, "exec")
    assert not re.search(r"# (gap:|instead|planted|end )|#- |\bCLAIMS\b|def cost\b", stub)
    assert not re.search(r"^(Answer|Changed):", stub, flags=re.MULTILINE)
    assert f"./ladder exercise check {exercise.name}\n" in stub


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_no_line_of_the_answer_is_in_the_stub_at_its_place(exercise: entry.Exercise) -> None:
    stub = stubs.stub(exercise)
    for _, _, answer in stubs.answer_regions(exercise.answer_path.read_text()):
        assert "\n".join(answer) not in stub


@pytest.mark.parametrize("exercise", GAPS_OF_STEPS, ids=lambda exercise: exercise.name)
def test_markers_change_no_fingerprint_of_a_step(exercise: entry.Exercise) -> None:
    source = exercise.answer_path.read_text()
    bare = "".join(line for line in source.splitlines(keepends=True) if not re.match(r"\s*#(-| (gap:|instead|end gap))", line))
    assert bare != source
    assert code_tokens(bare) == code_tokens(source)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_every_import_of_the_answer_that_its_kernel_uses_is_in_the_stub(exercise: entry.Exercise) -> None:
    stub = ast.parse(stubs.stub(exercise))
    imported = {alias.asname or alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    for _, _, answer in stubs.answer_regions(exercise.answer_path.read_text()):
        used = set(re.findall(r"\b(?:load4|store4|float32|uint32|cuda|ceil_div)\b", "\n".join(answer)))
        assert used <= imported


def test_a_file_with_a_gap_is_to_be_completed_and_one_with_a_bug_only_to_be_mended() -> None:
    for exercise in entry.exercises():
        first = stubs.stub(exercise).splitlines()[0]
        kinds = {kind for kind, _, _ in stubs.answer_regions(exercise.answer_path.read_text())}
        assert (": mend this file," in first) == (kinds == {"planted"}), first
        assert (": complete this file," in first) == ("gap" in kinds), first
    assert {each.track for each in entry.exercises() if ": mend" in stubs.stub(each)} == {"first", "detective"}
