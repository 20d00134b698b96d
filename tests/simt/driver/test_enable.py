"""Turning the emulated device on, in new processes: early, late, by itself, not at all, and how they end."""
from __future__ import annotations

import pathlib

import pytest

import simt
from simt.driver import enable

USE = """
import numpy as np
from numba import cuda
data = cuda.to_device(np.arange(5))
stream, event, pinned = cuda.stream(), cuda.event(), cuda.pinned_array(8)
event.record(stream)
print(data.copy_to_host().sum(), cuda.get_current_device().compute_capability, flush=True)
"""
FORK = """
import os
if not os.fork():
    try:
        cuda.to_device(np.zeros(3))
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
AUTOSTART = "import os; os.environ.get('SIMT') and __import__('simt.autostart')\n"
BANNER = "simt: emulated H100 (forced); times are modelled, not measured\n"


def test_a_program_that_knows_nothing_of_us_runs_and_ends_cleanly(python):
    """The start-up line of the installed .pth file, then a program that forks and still holds handles when it ends."""
    done = python(AUTOSTART + USE + FORK, SIMT="force")
    assert (done.returncode, done.stderr) == (0, BANNER)
    assert done.stdout == "10 ComputeCapability(major=9, minor=0)\nCUDA initialized before forking\n"


def test_enabled_after_numba_found_no_driver(python):
    code = "from numba import cuda\nassert not cuda.is_available()\nimport simt\nprint(simt.enable('force'))\n"
    done = python(code + USE, SIMT_QUIET="1", SIMT_DEVICE="t4")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "emulated\n10 ComputeCapability(major=7, minor=5)\n"


def test_off_leaves_the_process_alone(python):
    code = """
import sys
before = list(sys.meta_path)
import simt
print(simt.enable(), simt.backend(), sys.meta_path == before, 'simt.driver.session' in sys.modules)
"""
    assert python(AUTOSTART + code, SIMT="off").stdout == "off off True False\n"


def test_starting_up_imports_nothing_heavy(python):
    code = AUTOSTART + "import sys\nprint({'numpy', 'numba', 'llvmlite', 'ctypes', 'simt.runtime'} & set(sys.modules))"
    assert python(code, SIMT="force").stdout == "set()\n"


def test_an_unknown_device_is_refused_with_the_nearest_name(python):
    done = python("import simt\nsimt.enable('force')", SIMT_DEVICE="h10")
    assert done.returncode == 1
    assert "did you mean 'h100'" in done.stderr


def test_enabling_again_changes_nothing(capsys):
    assert simt.enable("force") == simt.enable("auto") == simt.backend() == "emulated"
    assert capsys.readouterr().err == ""


def test_it_cannot_be_taken_back():
    with pytest.raises(RuntimeError, match="start a new one"):
        simt.enable("off")


def test_an_unknown_mode_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="auto, force, off"):
        simt.enable("on")
    monkeypatch.setenv("SIMT", "yes")
    with pytest.raises(ValueError, match="SIMT=yes"):
        simt.enable()


def test_a_usable_gpu_wins_in_auto_and_its_absence_is_told(monkeypatch, capsys):
    from simt.driver import probe

    monkeypatch.delenv("SIMT", raising=False)
    monkeypatch.delenv("SIMT_QUIET", raising=False)
    installed = []
    monkeypatch.setattr(enable, "_install", lambda: installed.append(True))
    for reason, backend in (("", "gpu"), ("no CUDA GPU found", "emulated")):
        monkeypatch.setattr(enable._State, "backend", "off")
        monkeypatch.setattr(probe, "why_no_gpu", lambda reason=reason: reason)
        assert simt.enable() == backend
    assert installed == [True]
    name = simt.device().name.upper()
    assert capsys.readouterr().err == f"simt: emulated {name} (no CUDA GPU found); times are modelled, not measured\n"


def test_the_start_up_file_holds_the_line_that_is_tested_here():
    shipped = pathlib.Path(simt.__file__).with_name("autostart.pth").read_text()
    assert shipped.strip().replace('"', "'") == AUTOSTART.strip()
