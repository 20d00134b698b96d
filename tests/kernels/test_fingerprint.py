"""The fingerprint follows the code of a step and of what it imports, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.fingerprint import code_tokens, fingerprint, project_files
from kernels.ladder import load_ladder

STEP = '''"""What it does."""
from kernels.helpers import double, twice

SCALE = 1.5  # why


@jit
def kernel(x):
    """Its docstring,
    on two lines."""
    if x:
        name = f"{x!r:>{SCALE}} é {'nested'}" "tail"
        return double(x,
                      SCALE)
'''
HELPERS = "from kernels import deep\n\n\ndef double(x, y):\n    return deep.add(x, y)\n"
DEEP = "def add(x, y):\n    return x + y\n"

# Also read on Python 3.12 and 3.13, whose tokenizer splits f-strings.
GOLDEN_TOKENS = [
    *("from", "kernels", ".", "helpers", "import", "double", ",", "twice", "<newline>"),
    *("SCALE", "=", "1.5", "<newline>", "@", "jit", "<newline>"),
    *("def", "kernel", "(", "x", ")", ":", "<newline>", "<indent>"),
    *("if", "x", ":", "<newline>", "<indent>"),
    *("name", "=", "f\"{x!r:>{SCALE}} é {'nested'}\"", '"tail"', "<newline>"),
    *("return", "double", "(", "x", ",", "SCALE", ")", "<newline>", "<dedent>", "<dedent>"),
]
GOLDEN = "17864bba99dd"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of three files: a step, what it imports, and what that imports."""
    (tmp_path / "kernels").mkdir()
    for name, text in {"__init__": "", "step": STEP, "helpers": HELPERS, "deep": DEEP}.items():
        (tmp_path / "kernels" / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def of(project: Path, name: str = "step", **texts: str) -> str:
    """Fingerprint of a file of the project after replacing the text of some files."""
    for file, text in texts.items():
        (project / "kernels" / f"{file}.py").write_text(text, encoding="utf-8")
    return fingerprint(project / "kernels" / f"{name}.py", project)


def test_the_tokens_are_the_same_on_every_python():
    assert code_tokens(STEP) == GOLDEN_TOKENS


def test_the_fingerprint_is_the_same_on_every_python(project):
    assert of(project) == GOLDEN


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  # why", ""),
        ('"""What it does."""', '"""Says something else."""'),
        ('"""What it does."""\n', ""),
        ('    """Its docstring,\n    on two lines."""\n', "    # no docstring\n"),
        ("double(x,\n                      SCALE)", "double(x, SCALE)"),
        ("\n\n\n", "\n"),
        ("\n    if x:\n        name", "\n  if x:\n     name"),
        ("\n", "\r\n"),
    ],
    ids=["comment", "docstring", "no docstring", "inner", "line break", "blank lines", "indentation", "line ends"],
)
def test_words_and_layout_do_not_count(before, after):
    changed = STEP.replace(before, after)
    if "  if x" in after:
        changed = changed.replace("        return", "     return").replace('    """Its', '  """Its')
    assert changed != STEP
    assert code_tokens(changed) == code_tokens(STEP)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.5", "1.25"),
        ("é", "e"),
        ("{x!r:", "{x!s:"),
        ("'nested'", "'nestéd'"),
        ("        return", "    return"),
        ("if x:", "if  not x:"),
    ],
)
def test_code_counts(project, before, after):
    original = of(project)
    assert before in STEP
    assert of(project, step=STEP.replace(before, after)) != original


def test_a_string_that_is_used_counts():
    assert code_tokens("x = 'a'\n") != code_tokens("x = 'b'\n")
    assert code_tokens("f('a')\n") != code_tokens("f('b')\n")


def test_an_imported_file_counts(project):
    original = of(project)
    assert of(project, helpers=HELPERS.replace("deep.add(x, y)", "deep.add(y, x)")) != original


def test_a_file_imported_by_an_imported_file_counts(project):
    original = of(project)
    assert of(project, deep=DEEP.replace("+", "-")) != original


def test_comments_of_an_imported_file_do_not_count(project):
    original = of(project)
    assert of(project, helpers="# new\n" + HELPERS, deep='"""New."""\n' + DEEP) == original


def test_files_that_are_not_imported_do_not_count(project):
    original = of(project)
    assert of(project, other="x = 1\n") == original


def test_the_name_of_the_file_does_not_count(project):
    assert of(project, name="renamed", renamed=STEP) == of(project)


def test_a_copy_outside_the_project_has_the_fingerprint_of_the_original(project, tmp_path_factory):
    copy = tmp_path_factory.mktemp("learner") / "mine.py"
    copy.write_text(STEP, encoding="utf-8")
    assert fingerprint(copy, project) == of(project)


def test_files_that_import_each_other_end(project):
    of(project, deep="import kernels.step\n" + DEEP)
    names = [path.stem for path in project_files(project / "kernels" / "step.py", project)]
    assert names == ["step", "helpers", "__init__", "deep"]


def test_every_step_of_a_ladder_has_its_own_fingerprint():
    steps = load_ladder("matmul").steps
    assert len({step.fingerprint for step in steps}) == len(steps)
