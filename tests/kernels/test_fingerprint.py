"""The fingerprint follows the code of a step and of what it imports, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kernels
from kernels.fingerprint import code_tokens, fingerprint, project_files
from kernels.ladder import ladder_names, load_ladder

FOLDER = Path(kernels.__file__).parent

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
GOLDEN = "d4877d5b28dc"


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
    assert names == ["step", "helpers", "deep"]


@pytest.mark.parametrize(
    ("statement", "taken"),
    [
        ("from kernels.parts import deep", "kernels/parts/deep.py"),
        ("from .parts import deep", "kernels/parts/deep.py"),
        ("from kernels.parts.deep import add", "kernels/parts/deep.py"),
        ("import kernels.parts.deep", "kernels/parts/deep.py"),
        ("from kernels.parts import LADDER", "kernels/parts/__init__.py"),
        ("from kernels.parts import *", "kernels/parts/__init__.py"),
        ("import kernels.parts", "kernels/parts/__init__.py"),
        ("from numpy import deep", None),
    ],
)
def test_an_import_counts_the_file_from_which_it_takes_something(project, statement, taken):
    (project / "kernels" / "parts").mkdir()
    (project / "kernels" / "parts" / "__init__.py").write_text("LADDER = 1\n", encoding="utf-8")
    (project / "kernels" / "parts" / "deep.py").write_text(DEEP, encoding="utf-8")
    of(project, step=f"{statement}\n")
    _, *imported = project_files(project / "kernels" / "step.py", project)
    assert imported == ([project / taken] if taken else [])


def packages_with_modules():
    return [folder for folder in FOLDER.rglob("__init__.py") if len(list(folder.parent.glob("*.py"))) > 1]


def test_no_package_binds_a_name_that_is_a_module_in_it():
    """Or "from package import name" would take the package's own, and the fingerprint would look at the module."""
    for file in packages_with_modules():
        modules = {path.stem for path in file.parent.glob("*.py")} | {path.parent.name for path in file.parent.glob("*/*.py")}
        bound = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name) and not
                 isinstance(node.ctx, ast.Load)}
        assert not bound & modules, file


@pytest.mark.parametrize("name", ladder_names())
def test_no_step_depends_on_what_a_ladder_is_made_of(name):
    """Cases, tolerances and checks of shapes change no counter, so they must not make a record stale."""
    for step in load_ladder(name):
        for file in project_files(step.path):
            assert file.name not in ("ladder.py", "shapes.py"), f"{step.id} depends on {file}"
            assert file.name != "__init__.py" or "Ladder(" not in file.read_text(), f"{step.id} depends on {file}"


def test_every_step_of_a_ladder_has_its_own_fingerprint():
    steps = load_ladder("matmul").steps
    assert len({step.fingerprint for step in steps}) == len(steps)
