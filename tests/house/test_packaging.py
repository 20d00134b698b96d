"""pyproject.toml, constraints.txt, environment.yml and the launcher say the same."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house.fake_set_up import load

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"])]
PIN_LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PINS = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in PIN_LINES)}


def tree() -> set[str]:
    """Names of all that this project's requirements bring, as the packages installed here say."""
    pending, seen = list(REQUIREMENTS), set()
    while pending:
        requirement = pending.pop()
        for extra in ("", *requirement.extras):
            name = canonicalize_name(requirement.name)
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                needs = [Requirement(text) for text in metadata.requires(name) or ()]
            except metadata.PackageNotFoundError:
                continue  # the dev extra, where only ./ladder set up
            pending += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def test_every_package_of_the_tree_is_pinned() -> None:
    assert tree() - set(PINS) == set()


def test_nothing_else_is_pinned() -> None:
    only_for_python_3_11 = {"overrides"}
    assert set(PINS) - tree() - only_for_python_3_11 == set()


def test_every_pin_lies_in_the_range_of_pyproject() -> None:
    outside = [str(wanted) for wanted in REQUIREMENTS if PINS[canonicalize_name(wanted.name)] not in wanted.specifier]
    assert outside == []


def test_every_package_is_pinned_once() -> None:
    assert len(PIN_LINES) == len(PINS)


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}


def test_what_is_imported_is_declared() -> None:
    declared = {canonicalize_name(wanted.name) for wanted in REQUIREMENTS}
    providers = {
        top: {canonicalize_name(name) for name in names}
        for top, names in metadata.packages_distributions().items()
        if not (ROOT / top).is_dir()
    }
    undeclared = {
        f"{path.relative_to(ROOT)} imports {top}"
        for folder in ("kernels", "simt", "workbook", "solutions", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for top in imported(path) & set(providers)
        if not declared & providers[top]
    }
    assert undeclared == set()


def test_environment_yml_is_python_and_this_project_with_the_pins() -> None:
    """conda itself is not run here: the file is compared as text."""
    lines = (ROOT / "environment.yml").read_text().split("dependencies:\n")[1].splitlines()
    assert [line.strip().removeprefix("- ") for line in lines] == [
        f"python{PROJECT['requires-python']}", "pip", "pip:", "--constraint constraints.txt", "--editable .",
    ]


def test_launcher_and_pyproject_name_the_same_pythons() -> None:
    launcher, range_ = load(ROOT / "ladder"), SpecifierSet(PROJECT["requires-python"])
    allowed = [(3, minor) for minor in range(30) if f"3.{minor}" in range_]
    assert (launcher.OLDEST, launcher.NEWEST) == (allowed[0], allowed[-1])
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert classified == [f"{major}.{minor}" for major, minor in allowed]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "environment.yml", "ladder", ".ci/run"])
def test_no_file_names_a_package_index(name: str) -> None:
    assert not re.search(r"index-url|find-links|trusted-host|pypi\.org|pythonhosted", (ROOT / name).read_text())


@pytest.mark.parametrize(("value", "watched"), [(None, False), ("off", False), ("auto", True), ("force", True)])
def test_the_line_for_site_packages_watches_for_cuda_only_when_simt_asks(value: str | None, watched: bool) -> None:
    line = (ROOT / "simt" / "autostart.pth").read_text()
    env = {name: text for name, text in os.environ.items() if name != "SIMT"} | ({"SIMT": value} if value else {})
    env["PYTHONPATH"] = str(ROOT)
    finders = "import sys; print(any(type(finder).__module__ == 'simt.autostart' for finder in sys.meta_path))"
    done = subprocess.run([sys.executable, "-c", line + finders], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(watched)]


def test_without_simt_the_line_for_site_packages_imports_nothing() -> None:
    env = {name: text for name, text in os.environ.items() if name != "SIMT"}
    code = "import sys; before = set(sys.modules)\n" + (ROOT / "simt" / "autostart.pth").read_text()
    code += "print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
