"""What is installed, whether it is whole, and whether other code stands in its way."""

from __future__ import annotations

import importlib.machinery
import os
import re
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from workbook.doctor.finding import Findings, note, ok, problem
from workbook.doctor.machine import Machine

TOOLKIT = re.compile(r"(?:numba|numpy|llvmlite|(?:numba|cuda|nvidia)-.*)$")
OTHER_MAJOR = re.compile(r"(?:nvidia|numba|pynvjitlink|ptxcompiler|cubinlinker)-?.*-cu1[0-2]$")
A_FEW = 3  # missing packages that are brought back one by one; where there are more, the whole set-up is missing
OURS = ("kernels", "simt", "workbook")
SHADOWED = (*OURS, "numba", "numba_cuda", "llvmlite", "numpy", "cuda")

Installed = dict[str, list[metadata.Distribution]]


def packages(machine: Machine) -> Findings:
    """The toolkit's wheels against constraints.txt, and that their files are there as they were installed."""
    pins, needs = _pins(machine.root), _requirements(machine.root)
    installed, nameless = _installed(machine.site)
    watched = [name for name in (pins or installed) if TOOLKIT.match(name)]

    def again(names: list[str]) -> str:
        exact = " ".join(f"{name}=={pins[name]}" if name in pins else name for name in names)
        return f"{machine.pip} install --force-reinstall --no-deps {exact}"

    if missing := [name for name in dict.fromkeys([*watched, *needs]) if name not in installed]:
        everything = f"{machine.pip} install --constraint {machine.root / 'constraints.txt'} --editable {machine.root}"
        advice = again(missing) if len(missing) <= A_FEW else everything
        yield problem(f"missing: {', '.join(missing)}", advice, missing=missing)
    if damaged := {name: what for name in watched if (what := _damage(installed.get(name, [])))}:
        text = "; ".join(f"{name} ({what})" for name, what in damaged.items())
        yield problem(f"damaged: {text}", again(list(damaged)), damaged=list(damaged))
    for path in nameless:
        yield problem(f"{path} says of no package", f"delete it, then {machine.pip} check", path=path)
    if other := [name for name in installed if OTHER_MAJOR.match(name)]:
        yield problem(
            f"packages for CUDA 12 or older beside those for 13: {', '.join(other)}",
            f"{machine.pip} uninstall {' '.join(other)}",
            other_major=other,
        )
    present = {name: installed[name][0].version for name in needs if name in installed}
    if outside := [name for name, version in present.items() if not _allows(needs[name], version)]:
        text = ", ".join(f"{name} {present[name]}, where {needs[name]} is needed" for name in outside)
        yield problem(text, again(outside), outside=outside)
    yield from _versions(installed, watched, pins, again)


def _versions(installed: Installed, watched: list[str], pins: dict[str, str], again: Callable[..., str]) -> Findings:
    """The toolkit's versions, and those that are not the tested ones."""
    versions = {name: installed[name][0].version for name in watched if name in installed}
    other_version = [name for name, version in versions.items() if pins.get(name, version) != version]
    text = ", ".join(
        f"{name}=={version}" + (f" (tested with {pins[name]})" if name in other_version else "")
        for name, version in versions.items()
    )
    if not pins:
        yield note(f"{text}; no constraints.txt to compare with", versions=versions)
    elif other_version:
        yield note(text, again(other_version) + ", for the tested ones", versions=versions)
    elif versions:
        yield ok(text, versions=versions)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(root: Path) -> dict[str, str]:
    """constraints.txt; empty where only the packages were installed, without the project's other files."""
    try:
        lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {_canonical(name): version.strip() for name, version in pairs}


def _requirements(root: Path) -> dict[str, str]:
    """Package -> requirement, from pyproject.toml or from what was installed of this project."""
    try:
        texts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    except FileNotFoundError:
        try:
            texts = [text for text in metadata.requires("warpladder") or () if "extra ==" not in text]
        except metadata.PackageNotFoundError:
            texts = []
    return {_canonical(re.match(r"[\w.-]+", text)[0]): text for text in texts}


def _installed(site: list[str]) -> tuple[Installed, list[str]]:
    """Distributions by name, first the one that is imported; and folders of distributions that have no name."""
    installed: Installed = {}
    nameless = []
    for found in metadata.distributions(path=list(dict.fromkeys(site))):
        path = Path(str(getattr(found, "_path", "")))
        if path.name.startswith("~"):  # what pip leaves of one that it could not delete; nothing imports it
            continue
        try:
            name = found.metadata["Name"]
        except Exception:  # its type differs between Pythons
            name = None
        if name:
            installed.setdefault(_canonical(name), []).append(found)
        elif path.suffix == ".dist-info":
            nameless.append(str(path))
    return installed, nameless


def _damage(found: list[metadata.Distribution]) -> str:
    """What is wrong with the files of a package; "" where nothing is, or no list of them was kept."""
    if not found:
        return ""
    beside = {each.version for each in found if each.locate_file("") == found[0].locate_file("")}
    if len(beside) > 1:
        return f"installed as {' and '.join(sorted(beside))} at once"
    for file in found[0].files or ():
        if file.suffix == ".pyc":
            continue
        try:
            size = os.stat(file.locate()).st_size
        except OSError:
            return f"{file} is missing"
        if file.size not in (None, size):
            return f"{file} was changed"
    return ""


def _allows(requirement: str, version: str) -> bool:
    try:
        from packaging.requirements import Requirement
    except ImportError:  # reported as missing
        return True
    return Requirement(requirement).specifier.contains(version, prereleases=True)


def imports(machine: Machine) -> Findings:
    """Whether our packages are what their names import: the package index has an unrelated one named kernels."""
    clashes = 0
    for name in OURS:
        spec = importlib.machinery.PathFinder.find_spec(name, machine.site)
        ours = machine.root / name / "__init__.py"
        if spec is None:
            clashes += 1
            advice = f"{machine.pip} install --no-deps --editable {machine.root}"
            yield problem(f"{name} cannot be imported: {machine.root} is in no list of places", advice, package=name)
        elif spec.origin is None or Path(spec.origin).resolve() != ours.resolve():
            clashes += 1
            origin = spec.origin or str(list(spec.submodule_search_locations or ()))
            owned = name in _installed([str(Path(origin).parent.parent)])[0]
            advice = f"{machine.pip} uninstall {name}" if owned else "move it away, or its folder out of PYTHONPATH"
            yield problem(f"{name} is {origin}, an unrelated package, not ours", advice, package=name, origin=origin)
    if not clashes:
        yield ok(f"{', '.join(OURS[:-1])} and {OURS[-1]} are ours, from {machine.root}", root=str(machine.root))


def shadowing(machine: Machine) -> Findings:
    """Files and folders that Python would import in place of the packages, from where the reader stands."""
    if machine.here is None:
        yield note("the current folder no longer exists", "cd into one that does")
        return
    listed = [Path(entry) for entry in machine.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = {folder.resolve(): folder for folder in (machine.here, *listed)}
    found = [path for folder in folders.values() for path in _shadows(folder, machine.root)]
    for path in found:
        yield problem(
            f"{path} would be imported in place of the package {path.stem}",
            f"rename it, or start programs elsewhere than in {path.parent}",
            path=str(path),
        )
    if not found:
        yield ok(f"nothing in {machine.here} hides a package")


def _shadows(folder: Path, root: Path) -> list[Path]:
    """A folder without __init__.py hides nothing: Python goes on to look for a package."""
    names = [name for name in SHADOWED if not (folder.resolve() == root.resolve() and name in OURS)]
    files = [folder / f"{name}.py" for name in names]
    packages = [folder / name for name in names if (folder / name / "__init__.py").is_file()]
    return [*packages, *(file for file in files if file.is_file())]


def numba_cuda(machine: Machine) -> Findings:
    """Which package provides numba.cuda: numba-cuda, or the old one inside numba."""
    path, provider = machine.trial.get("cuda_file"), machine.trial.get("provider")
    if path is None:
        pins = machine.root / "constraints.txt"
        again = f"{machine.pip} install --force-reinstall --constraint {pins} numba 'numba-cuda[cu13]'"
        error = machine.trial.get("error", "the trial told nothing")
        yield problem(f"numba.cuda could not be imported: {error}", f"solve what is said above; else {again}")
    elif provider != "NVIDIA":
        advice = f"{machine.pip} install --force-reinstall --no-deps numba-cuda"
        yield problem(f"numba's built-in target provides numba.cuda, not numba-cuda: {path}", advice, path=path)
    else:
        version = _version("numba-cuda", machine.site)
        yield ok(f"numba-cuda {version} provides numba.cuda", path=path, provider="numba-cuda", version=version)


def _version(name: str, site: list[str]) -> str:
    found = next(iter(metadata.distributions(name=name, path=site)), None)
    return "of unknown version" if found is None else found.version
