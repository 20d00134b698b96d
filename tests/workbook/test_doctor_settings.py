"""The doctor on Python, platform and disk, on environment variables, and on the cache of kernels."""

from __future__ import annotations

import re
import tomllib
from collections import namedtuple

import pytest
from packaging.specifiers import SpecifierSet

from simt.jit import cache as kernel_cache
from workbook.cli.test import ROOT
from workbook.doctor import settings, system


def statuses(findings):
    return [found.status for found in findings]


@pytest.mark.parametrize(
    "fields",
    [
        {"python": (3, 10, 4)},
        {"python": (3, 15, 0)},
        {"implementation": "PyPy"},
        {"free_threaded": True},
    ],
)
def test_a_python_that_is_not_supported_is_a_problem(machine, fields):
    (found,) = system.python(machine(**fields))
    assert found.status == "problem" and "CPython 3.11 to 3.14" in found.advice


def test_the_supported_pythons_are_those_of_pyproject():
    range_ = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    allowed = [(3, minor) for minor in range(30) if f"3.{minor}" in range_]
    assert (system.OLDEST, system.NEWEST) == (allowed[0], allowed[-1])


@pytest.mark.parametrize(
    ("platform", "status"),
    [
        (("Linux", "x86_64", "glibc", "6.8"), "ok"),
        (("Linux", "aarch64", "glibc", "6.8"), "ok"),
        (("Linux", "riscv64", "glibc", "6.8"), "problem"),
        (("Linux", "x86_64", "", "6.8"), "problem"),
        (("Darwin", "arm64", "", "24.1"), "problem"),
    ],
)
def test_linux_with_glibc_on_two_processors_is_supported(machine, platform, status):
    assert statuses(system.platform(machine(platform=platform))) == [status]


@pytest.mark.parametrize(("free", "status"), [(system.FREE_BYTES - 1, "problem"), (system.FREE_BYTES, "ok")])
def test_a_full_disk_is_a_problem(machine, monkeypatch, free, status):
    usage = namedtuple("usage", "total used free")(2 * free, free, free)
    monkeypatch.setattr(system.shutil, "disk_usage", lambda place: usage)
    assert statuses(system.disk(machine())) == [status]


def test_without_variables_the_pip_packages_bring_the_compiler(machine):
    (found,) = settings.variables(machine())
    assert found.text == "none set; the compiler comes from the pip packages: site/nvidia/cu13/lib/libnvvm.so.4"


def test_a_variable_that_points_to_a_removed_toolkit_is_a_problem_and_the_winner_is_named(machine):
    stale, winner = settings.variables(machine(environ={"CUDA_HOME": "/opt/cuda-9"}))
    assert (stale.status, stale.advice) == ("problem", "unset CUDA_HOME")
    assert stale.text == "CUDA_HOME=/opt/cuda-9: there is no /opt/cuda-9"
    assert "the pip packages won over CUDA_HOME" in winner.text


def test_where_both_variables_are_set_the_one_that_won_is_named(machine, tmp_path):
    by_variable = {"toolkit": {"nvvm": ["CUDA_PATH", "nvvm"]}}
    environ = {"CUDA_HOME": str(tmp_path), "CUDA_PATH": str(tmp_path)}
    (found,) = settings.variables(machine(environ=environ, trial=by_variable))
    assert "CUDA_PATH won over CUDA_HOME" in found.text


def test_cuda_home_alone_is_named_as_the_winner(machine, tmp_path):
    by_variable = {"toolkit": {"nvvm": ["CUDA_PATH", "nvvm"]}}
    (found,) = settings.variables(machine(environ={"CUDA_HOME": str(tmp_path)}, trial=by_variable))
    assert "the compiler comes from CUDA_HOME" in found.text


@pytest.mark.parametrize("name", ["NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_CUDA"])
def test_a_switch_that_takes_the_device_away_is_a_problem(machine, name):
    wrong, _ = settings.variables(machine(environ={name: "1"}))
    assert (wrong.status, wrong.advice) == ("problem", f"unset {name}")
    assert statuses(settings.variables(machine(environ={name: "0"}))) == ["ok"]


def test_a_stale_path_for_numba_is_a_problem(machine):
    stale, _ = settings.variables(machine(environ={"NUMBA_CUDA_DRIVER": "/opt/gone/libcuda.so"}))
    assert (stale.status, stale.advice) == ("problem", "unset NUMBA_CUDA_DRIVER")


def test_variables_that_nothing_reads_any_more_are_a_note(machine):
    unread, listed = settings.variables(machine(environ={"NUMBAPRO_NVVM": "x", "NUMBA_CUDA_USE_NVIDIA_BINDING": "1"}))
    assert unread.status == "note" and unread.advice == "unset NUMBAPRO_NVVM NUMBA_CUDA_USE_NVIDIA_BINDING"
    assert "NUMBA_CUDA_USE_NVIDIA_BINDING" in listed.text


def test_folders_of_ld_library_path_that_are_gone_are_a_note_since_they_do_no_harm(machine, tmp_path):
    gone, _ = settings.variables(machine(environ={"LD_LIBRARY_PATH": f"{tmp_path}::/opt/gone"}))
    assert gone.status == "note" and gone.facts == {"folders": ["/opt/gone"]}


@pytest.fixture
def variables(monkeypatch):
    """Sets SIMT variables of this process, where simt reads them, and gives all of them."""

    def make(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        return values

    return make


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SIMT", "yes", "SIMT=yes: the modes are auto, force, off"),
        ("SIMT_DEVICE", "h10", "did you mean 'h100'"),
        ("SIMT_THREADS", "lots", "number of worker threads"),
        ("SIMT_SCHEDULE", "sideways", "forward, reverse"),
        ("SIMT_WATCHDOG_S", "soon", "seconds"),
        ("SIMT_CACHE", "disabled", "counts as on"),
    ],
)
def test_a_bad_value_is_refused_in_simts_own_words(machine, variables, name, value, said):
    (found,) = settings.settings(machine(environ=variables(**{name: value})))
    assert found.status == "problem" and said in found.text and found.advice.endswith(f"unset {name}")


def test_good_values_are_listed(machine, variables):
    values = {"SIMT": "force", "SIMT_DEVICE": "a100", "SIMT_THREADS": "2", "SIMT_SCHEDULE": "reverse"}
    values |= {"SIMT_QUIET": "1", "SIMT_WATCHDOG_S": "2.5", "SIMT_CACHE": "off"}
    (found,) = settings.settings(machine(environ=variables(**values)))
    assert found.status == "ok" and found.text.startswith("SIMT=force, SIMT_DEVICE=a100")


def test_a_misspelt_name_gets_the_right_one(machine):
    (found,) = settings.settings(machine(environ={"SIMT_DEVCE": "a100", "SIMTASIA": "is no variable of ours"}))
    assert (found.status, found.text) == ("problem", "SIMT_DEVCE is no setting; did you mean SIMT_DEVICE?")


def test_every_variable_that_simt_reads_is_known():
    texts = "\n".join(path.read_text() for path in (ROOT / "simt").rglob("*.py"))
    assert set(re.findall(r"\bSIMT_[A-Z_]+\b", texts)) <= set(settings.SETTINGS)


def test_a_private_folder_is_measured(machine, monkeypatch, tmp_path):
    monkeypatch.setenv("SIMT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    kernel_cache.folder().joinpath("one.o").write_bytes(bytes(2500))
    (found,) = settings.cache(machine())
    assert (found.status, found.text) == ("ok", f"{tmp_path}/cache: 2.50 kB in 1 file, private")


def test_a_folder_that_others_can_write_is_not_used_and_said(machine, monkeypatch, tmp_path):
    monkeypatch.setenv("SIMT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    (found,) = settings.cache(machine())
    assert found.status == "problem" and "can be written by others (mode 777)" in found.text
    assert found.advice.startswith(f"chmod 700 {tmp_path}/cache")


def test_where_a_second_place_serves_it_is_a_note(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "candidates", lambda: [tmp_path / "file", tmp_path / "second"])
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    (tmp_path / "file").touch()
    first, second = settings.cache(machine())
    assert first.status == "note" and f"{tmp_path}/file is no folder: {tmp_path}/second serves" in first.text
    assert second.status == "ok"


def test_a_cache_that_is_off_is_a_note(machine, variables):
    assert statuses(settings.cache(machine(environ=variables(SIMT_CACHE="off")))) == ["note"]
