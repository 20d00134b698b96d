"""The doctor on which backend would be used, and on its self-test, which may fail in every way."""

from __future__ import annotations

import pytest

from simt.driver.probe import Answer
from workbook.doctor import machine as machines
from workbook.doctor import running, trial
from workbook.doctor.machine import Machine

USABLE, OLD = Answer(13_000, 1, 90), Answer(12_040, 1, 90)


@pytest.mark.parametrize(
    ("environ", "driver", "status", "text"),
    [
        ({}, "no CUDA GPU found", "ok", "emulated H100: no CUDA GPU found"),
        ({"SIMT_DEVICE": "a100"}, OLD, "ok", "emulated A100: the GPU's driver speaks CUDA 12.4, 13.0 is needed"),
        ({}, USABLE, "ok", "the GPU: it is usable; SIMT=force would emulate one"),
        ({"SIMT": "force"}, USABLE, "ok", "emulated H100: SIMT=force"),
        ({"SIMT": "off"}, USABLE, "problem", "none: SIMT=off"),
        ({"SIMT": "on"}, USABLE, "problem", "none: SIMT=on is refused"),
    ],
)
def test_the_backend_comes_with_its_reason(machine, environ, driver, status, text):
    (found,) = running.backend(machine(environ=environ, driver=driver))
    assert (found.status, found.text) == (status, text)


def test_the_compiler_is_named_by_what_it_wrote(machine):
    (found,) = running.compiler(machine())
    assert found.text == "NVVM 13.5.37 emits PTX 9.5"


def test_a_right_result_is_shown_with_its_times(machine):
    (found,) = running.self_test(machine())
    assert found.status == "ok"
    assert found.text == "a kernel compiled and ran in 1.25 s on the emulated device, again in 400 µs; 1024 cells right"


def test_a_wrong_result_is_a_problem(machine):
    (found,) = running.self_test(machine(trial={"backend": "gpu", "wrong_cells": 7}))
    assert (found.status, found.text) == ("problem", "7 of 1024 cells came out wrong on the GPU")


def test_an_error_is_shown_with_its_notes(machine):
    (found,) = running.self_test(machine(trial={"error": "CudaAPIError: [1] no", "notes": ["a note"]}))
    assert (found.status, found.text) == ("problem", "failed: CudaAPIError: [1] no a note")


def test_with_simt_off_nothing_is_run(machine):
    (found,) = running.self_test(machine(trial={"backend": "off"}))
    assert found.status == "note"


@pytest.fixture
def child(monkeypatch, tmp_path):
    """The trial of a machine whose trial is this program."""

    def run(program, timeout_s=60.0):
        (tmp_path / "stand_in.py").write_text(program)
        monkeypatch.setattr(machines, "TRIAL", "stand_in")
        monkeypatch.setattr(machines, "TRIAL_TIMEOUT_S", timeout_s)
        return Machine(root=tmp_path).trial

    return run


def told(**facts):
    return f"print({machines.MARK!r} + {str(facts)!r}.replace(chr(39), chr(34)), flush=True)\n"


def test_facts_are_told_apart_from_other_output(child):
    assert child("print('{}')\n" + told(a="1") + "print('x')\n" + told(b="2")) == {"a": "1", "b": "2"}


def test_a_trial_that_dies_keeps_what_it_told_and_names_the_signal(child):
    facts = child(told(backend="gpu") + "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert facts == {"backend": "gpu", "error": "it ended with signal 11: without a word"}


def test_a_trial_that_cannot_start_shows_its_last_line(child):
    assert child("import no_such_module")["error"].endswith("ModuleNotFoundError: No module named 'no_such_module'")


def test_a_trial_that_hangs_is_ended(child):
    facts = child(told(backend="gpu") + "import time\ntime.sleep(60)\n", timeout_s=1.0)
    assert facts == {"backend": "gpu", "error": "it did not end within 1 s"}


def test_mapped_libraries_are_found_by_their_file_names(monkeypatch):
    assert trial.LIBRARIES.match("libcuda.so.1 (deleted)") and not trial.LIBRARIES.match("libcudart.so.13")
    assert all("libcudart" not in path for path in trial.mapped())
