"""The doctor on packages: wheels that are missing, damaged, mixed or of other versions, and names that clash."""

from __future__ import annotations

import shutil

import pytest

from workbook.cli.test import ROOT
from workbook.doctor import packages

PINS = "# comment\nnumba==0.68.1\nnvidia-nvvm==13.5.37\nclick==8.5.1\n"
PROJECT = '[project]\ndependencies = ["numba>=0.64", "click>=8.1"]\n'


class Site:
    """A folder of wheels, as pip leaves them."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, name, version, text="x = 1\n"):
        module = name.replace("-", "_")
        (self.folder / f"{module}.py").write_text(text)
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{module}.py,,{len(text)}\n{info.name}/METADATA,,\n")
        return info


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    made = Site(folder)
    for name, version in (("numba", "0.68.1"), ("nvidia-nvvm", "13.5.37"), ("click", "8.5.1"), ("packaging", "26.4")):
        made.add(name, version)
    return made


@pytest.fixture
def look(site, machine, tmp_path):
    """The findings about that folder."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "constraints.txt").write_text(PINS)
    (root / "pyproject.toml").write_text(PROJECT)
    return lambda: list(packages.packages(machine(root=root, site=[str(site.folder)])))


def test_wheels_as_pinned_are_listed_with_their_versions(look):
    (found,) = look()
    assert (found.status, found.text) == ("ok", "numba==0.68.1, nvidia-nvvm==13.5.37")
    assert found.facts == {"versions": {"numba": "0.68.1", "nvidia-nvvm": "13.5.37"}}


def test_a_missing_wheel_is_named_with_the_command_that_brings_the_pinned_one(look, site):
    shutil.rmtree(site.folder / "nvidia_nvvm-13.5.37.dist-info")
    missing, listed = look()
    assert (missing.status, missing.text) == ("problem", "missing: nvidia-nvvm")
    assert missing.advice.endswith("-m pip install --force-reinstall --no-deps nvidia-nvvm==13.5.37")
    assert listed.text == "numba==0.68.1"


def test_what_pyproject_needs_is_missed_too(look, site):
    shutil.rmtree(site.folder / "click-8.5.1.dist-info")
    assert look()[0].text == "missing: click"


def test_where_everything_is_missing_the_whole_set_up_is_to_be_repeated(look, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "A_FEW", 1)
    shutil.rmtree(tmp_path / "site")
    (missing,) = look()
    assert missing.text == "missing: numba, nvidia-nvvm, click"
    root = tmp_path / "root"
    assert missing.advice.endswith(f"install --constraint {root}/constraints.txt --editable {root}")


def test_a_file_that_is_gone_makes_the_wheel_damaged(look, site):
    (site.folder / "nvidia_nvvm.py").unlink()
    damaged = look()[0]
    assert (damaged.status, damaged.text) == ("problem", "damaged: nvidia-nvvm (nvidia_nvvm.py is missing)")
    assert damaged.advice.endswith("nvidia-nvvm==13.5.37")


def test_a_file_cut_short_makes_the_wheel_damaged(look, site):
    (site.folder / "numba.py").write_text("x")
    assert look()[0].text == "damaged: numba (numba.py was changed)"


def test_two_versions_in_one_folder_are_damage(look, site):
    site.add("numba", "0.66.0")
    assert look()[0].text == "damaged: numba (installed as 0.66.0 and 0.68.1 at once)"


def test_metadata_without_a_name_is_reported_by_its_path(look, site):
    (site.folder / "numba-0.68.1.dist-info" / "METADATA").unlink()
    assert [found.text for found in look()[:2]] == [
        "missing: numba",
        f"{site.folder}/numba-0.68.1.dist-info says of no package",
    ]


def test_what_pip_could_not_delete_is_no_damage(look, site):
    site.add("numba", "0.66.0").rename(site.folder / "~umba-0.66.0.dist-info")
    assert [found.status for found in look()] == ["ok"]


def test_wheels_of_cuda_12_beside_those_of_13_are_a_problem(look, site):
    site.add("nvidia-nvjitlink-cu12", "12.9.86")
    mixed, listed = look()
    assert mixed.status == "problem" and "nvidia-nvjitlink-cu12" in mixed.text
    assert mixed.advice.endswith("-m pip uninstall nvidia-nvjitlink-cu12")
    assert listed.status == "ok"


def test_another_version_than_the_tested_one_is_worth_a_note(look, site):
    shutil.rmtree(site.folder / "numba-0.68.1.dist-info")
    site.add("numba", "0.67.0")
    (found,) = look()
    assert found.status == "note" and "numba==0.67.0 (tested with 0.68.1)" in found.text


def test_a_version_outside_of_pyprojects_range_is_a_problem(look, site):
    shutil.rmtree(site.folder / "numba-0.68.1.dist-info")
    site.add("numba", "0.59.0")
    outside = look()[0]
    assert (outside.status, outside.text) == ("problem", "numba 0.59.0, where numba>=0.64 is needed")


def test_without_constraints_the_versions_are_listed_all_the_same(machine, site, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    *_, found = packages.packages(machine(root=tmp_path, site=[str(site.folder)]))
    assert found.status == "note" and "no constraints.txt" in found.text


def test_an_unrelated_package_named_kernels_is_told_from_ours(machine, site):
    site.add("kernels", "0.12.0").parent.joinpath("kernels").mkdir()
    (site.folder / "kernels" / "__init__.py").touch()
    (found,) = packages.imports(machine(site=[str(site.folder), str(ROOT)]))
    assert found.status == "problem" and f"kernels is {site.folder}/kernels/__init__.py" in found.text
    assert found.advice.endswith("-m pip uninstall kernels")


def test_ours_first_is_fine(machine, site):
    (site.folder / "kernels").mkdir()
    (site.folder / "kernels" / "__init__.py").touch()
    (found,) = packages.imports(machine(site=[str(ROOT), str(site.folder)]))
    assert found.status == "ok"


def test_packages_that_are_nowhere_are_a_problem(machine, site):
    assert [found.status for found in packages.imports(machine(site=[str(site.folder)]))] == ["problem"] * 3


@pytest.mark.parametrize("name", ["numba.py", "cuda.py", "numba/__init__.py", "kernels/__init__.py"])
def test_a_file_or_package_where_the_reader_stands_shadows(machine, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    (found,) = packages.shadowing(machine())
    hidden = name.removesuffix("/__init__.py")
    assert found.status == "problem"
    assert found.text == f"{tmp_path}/{hidden} would be imported in place of the package {hidden.removesuffix('.py')}"


def test_a_folder_on_pythonpath_shadows_too(machine, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "numba.py").touch()
    (found,) = packages.shadowing(machine(environ={"PYTHONPATH": f"/nowhere:{tmp_path / 'lib'}"}))
    assert found.facts == {"path": f"{tmp_path}/lib/numba.py"}


def test_a_folder_without_init_hides_nothing(machine, tmp_path):
    (tmp_path / "numba").mkdir()
    assert [found.status for found in packages.shadowing(machine())] == ["ok"]


def test_our_own_checkout_hides_nothing(machine):
    assert [found.status for found in packages.shadowing(machine(here=ROOT))] == ["ok"]


def test_a_folder_that_was_deleted_is_said(machine):
    assert [found.status for found in packages.shadowing(machine(here=None))] == ["note"]


def test_numbas_built_in_target_is_told_from_numba_cuda(machine):
    (found,) = packages.numba_cuda(machine(trial={"provider": "Built-in", "cuda_file": "numba/cuda/__init__.py"}))
    assert found.status == "problem" and "built-in" in found.text
    assert found.advice.endswith("install --force-reinstall --no-deps numba-cuda")


def test_a_numba_that_cannot_be_imported_is_said(machine):
    (found,) = packages.numba_cuda(machine(trial={"cuda_file": None, "error": "ImportError: no"}))
    assert (found.status, found.text) == ("problem", "numba.cuda could not be imported: ImportError: no")
