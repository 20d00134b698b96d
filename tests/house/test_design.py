"""The rules of the house that no linter knows: who may import whom, how long files get, what the documents promise."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from workbook.cli import cli

ROOT = Path(__file__).parents[2]
PACKAGES = ("kernels", "simt", "workbook")

# What each of our packages may import of the others.
NEIGHBOURS = {"kernels": set(), "simt": set(), "workbook": {"kernels", "simt"}}

# What each part of simt may import of the others: downwards only. simt.jit.builder writes LLVM text and knows no part.
PARTS = {
    "": {"driver", "model"},
    "driver": {"report", "model", "runtime", "observe"},
    "report": {"model", "observe", "ptx"},
    "model": {"observe"},
    "runtime": {"jit", "observe", "ir", "isa", "ptx"},
    "jit": {"jit.builder", "observe", "ir", "isa", "ptx"},
    "observe": {"jit.builder", "ir", "isa", "ptx"},
    "ir": {"isa", "ptx"},
    "isa": {"jit.builder", "ptx"},
    "jit.builder": set(),
    "ptx": set(),
}

MODULES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
GENERATED = {".git", ".venv", ".pins", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", "out"}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of every import in the file, those inside functions too."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module)
            if (ROOT / module.replace(".", "/")).is_dir():  # `from simt.jit import builder` imports simt.jit.builder
                yield from ((f"{module}.{name.name}", node.lineno) for name in node.names)
            else:
                yield module, node.lineno


def part(module: str) -> str:
    """The part of simt that a module belongs to; "" for simt's own top."""
    words = module.split(".")
    if words[1:3] == ["jit", "builder"]:
        return "jit.builder"
    return words[1] if len(words) > 1 and (ROOT / "simt" / words[1]).is_dir() else ""


def own_files() -> Iterator[Path]:
    """Every file of the checkout that is ours to keep."""
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_dir() and path.name not in GENERATED and path != ROOT / "exercises":  # those are the reader's own
                folders.append(path)
            elif path.is_file() and path.name not in GENERATED:        # in a worktree, .git is a file
                yield path


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def test_no_package_imports_one_that_is_above_it() -> None:
    wrong = [
        f"{path}:{line} imports {module}"
        for path in MODULES
        for module, line in imports(path)
        for package in [module.split(".")[0]]
        if package in PACKAGES and package not in NEIGHBOURS[path.parts[0]] | {path.parts[0]}
    ]
    assert wrong == []


def test_a_solution_imports_ladders_numba_and_numpy_only() -> None:
    solutions = sorted(path.relative_to(ROOT) for path in (ROOT / "solutions").rglob("*.py"))
    used = {module.split(".")[0] for path in solutions for module, _ in imports(path)}
    assert solutions and used - sys.stdlib_module_names <= {"kernels", "numba", "numpy"}


def test_no_part_of_simt_imports_one_that_is_above_it() -> None:
    wrong = [
        f"{path}:{line} imports {module}"
        for path in MODULES
        if path.parts[0] == "simt" and path.name != "autostart.py"  # that one only switches the whole of simt on
        for module, line in imports(path)
        for mine in [part(module_name(path))]
        if module.split(".")[0] == "simt" and part(module) not in PARTS[mine] | {mine}
    ]
    assert wrong == []


def test_every_part_of_simt_has_a_place_in_the_order() -> None:
    assert {part(module_name(path)) for path in MODULES if path.parts[0] == "simt"} <= set(PARTS)


def test_kernels_need_numba_and_numpy_only() -> None:
    used = {module.split(".")[0] for path in MODULES if path.parts[0] == "kernels" for module, _ in imports(path)}
    assert used - sys.stdlib_module_names - {"kernels"} <= {"numba", "numpy", "llvmlite"}  # llvmlite is numba's own


@pytest.mark.parametrize(("pattern", "limit"), [("simt/**/*.py", 400), ("kernels/**/s[0-9]*.py", 120)])
def test_files_stay_short(pattern: str, limit: int) -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in ROOT.glob(pattern)}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > limit} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(path) for path in MODULES if not ast.get_docstring(ast.parse((ROOT / path).read_text()))]
    assert silent == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_that_is_imported_is_ours(package: str) -> None:
    assert importlib.util.find_spec(package).origin == str(ROOT / package / "__init__.py")


def test_every_ignored_lint_gives_a_reason() -> None:
    ignores = re.compile(r"# (?:noqa|type: ignore)(?!: [A-Z0-9, ]+ +\S)")
    python = [path for path in own_files() if path.suffix == ".py" and path != Path(__file__)]
    assert [str(path) for path in python if ignores.search(path.read_text())] == []


def test_no_file_names_a_folder_of_one_persons_machine() -> None:
    personal = re.compile(rb"(?<![\w.])/(?:home|root|work|Users|mnt)/\w")
    assert [str(path) for path in own_files() if personal.search(path.read_bytes())] == []


def recipes() -> dict[str, list[str]]:
    """The recipes of CONTRIBUTING.md: title -> lines that are not blank."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Recipes\n")[1].split("\n## ")[0]
    titles_and_bodies = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
    bodies = [[line for line in body.splitlines() if line.strip()] for body in titles_and_bodies[1::2]]
    return dict(zip(titles_and_bodies[::2], bodies, strict=True))


def test_recipes_fit_in_ten_lines() -> None:
    assert {"A step", "An exercise", "An instruction", "An observer", "A rule"} <= set(recipes())
    assert {title: len(lines) for title, lines in recipes().items() if len(lines) > 10} == {}


def promised_commands() -> list[str]:
    text = "\n".join((ROOT / name).read_text() for name in DOCUMENTS)
    return sorted({line.split("  #")[0].strip() for line in re.findall(r"^\./ladder .*$", text, flags=re.MULTILINE)})


def test_the_readme_shows_the_two_commands() -> None:
    assert {"./ladder climb matmul", "./ladder test"} <= set(promised_commands())


@pytest.mark.parametrize("command", promised_commands())
def test_commands_in_the_documents_exist(command: str) -> None:
    name, *arguments = shlex.split(command)[1:]
    with cli.commands[name].make_context(name, arguments) as context:
        assert isinstance(context, click.Context)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_named_in_the_documents_exist(name: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []
