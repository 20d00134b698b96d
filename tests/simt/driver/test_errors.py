"""Errors: the number goes to the caller, the explanation to the exception; nothing is lost and nothing sticks."""
from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError

from simt.driver import callbacks, errors
from simt.driver.session import current
from simt.isa.table import Unsupported
from simt.ptx import PtxError
from simt.runtime.faults import Fault


def test_an_unknown_driver_function_answers_801_and_names_itself():
    code, *_ = cuda_driver.cuGraphCreate(0)
    assert code == cuda_driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
    assert "cuGraphCreate" in errors.take_note()


def test_sharing_memory_between_processes_answers_801():
    with pytest.raises(CudaAPIError, match="NOT_SUPPORTED"):
        cuda.device_array(10).get_ipc_handle()


def test_a_fault_names_kernel_line_block_thread_and_array_and_the_next_launch_works(shift, cells):
    target = cuda.to_device(np.zeros(64, np.float32))
    with pytest.raises(CUDAError, match="ILLEGAL_ADDRESS") as failed:
        shift[1, 64](cells, target)
    note = "\n".join(failed.value.__notes__)
    for fact in ("shift", "conftest.py", "target[index + 1] = source[index]", "block (0, 0, 0)", "thread (63, 0, 0)",
                 "target", "next launch works"):
        assert fact in note
    shift[1, 63](cells, target)
    assert target.copy_to_host()[63] == 0


def test_a_failed_launch_leaves_no_note_for_a_later_error(shift, cells):
    with pytest.raises(CUDAError):
        shift[1, 64](cells, cells)
    with pytest.raises(CUDAError) as failed:
        shift[1, 2000](cells, cells)
    assert len(failed.value.__notes__) == 1
    assert "2000" in failed.value.__notes__[0]


def test_freeing_twice_is_told_apart_from_freeing_nonsense():
    address = int(cuda_driver.cuMemAlloc(64)[1])
    assert cuda_driver.cuMemFree(address)[0] == 0
    for wrong, said in ((address, "was freed before"), (0x4711, "no allocation starts at 0x4711")):
        with pytest.raises(CudaAPIError, match="INVALID_VALUE") as failed:
            cuda.cudadrv.driver.driver.cuMemFree(wrong)
        assert said in failed.value.__notes__[0]


def test_ctrl_c_in_a_kernel_is_a_keyboard_interrupt_at_the_launch(increment, cells, monkeypatch):
    class Slow:
        def launch(self, *_arguments, **_options):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(10)

    monkeypatch.setattr(current(), "launcher", Slow())
    with pytest.raises(KeyboardInterrupt) as interrupted:
        increment[1, 64](cells)
    assert interrupted.value.__context__ is None
    monkeypatch.undo()
    increment[1, 64](cells)


def test_a_bug_in_the_device_is_reported_with_its_traceback(monkeypatch):
    monkeypatch.setattr(current().memory, "alloc", lambda *_: 1 // 0)
    with pytest.raises(CudaAPIError, match="CUDA_ERROR_UNKNOWN") as failed:
        cuda.device_array(10)
    note = failed.value.__notes__[0]
    assert "a bug in the emulated device" in note
    assert "ZeroDivisionError" in note and "test_errors.py" in note


@pytest.mark.parametrize("variable, text", [("SIMT_THREADS", "x"), ("SIMT_SCHEDULE", "-1"), ("SIMT_WATCHDOG_S", "nan")])
def test_a_variable_with_nonsense_is_the_readers_mistake_not_a_bug(increment, cells, monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    with pytest.raises(CUDAError, match="INVALID_VALUE") as failed:
        increment[1, 61](cells)         # the first launch of this shape: later ones run on the launching thread
    assert failed.value.__notes__[0].startswith(f"{variable}='{text}': it is ")
    monkeypatch.undo()
    increment[1, 64](cells)


@pytest.mark.parametrize("error, code", [
    (Fault(700, "line", "lesson"), 700),
    (Unsupported("foo.bar", 12), errors.NOT_SUPPORTED),
    (PtxError("no semicolon", 3, "add.s32"), errors.INVALID_PTX),
    (errors.DriverError(errors.NOT_FOUND, "no such kernel"), errors.NOT_FOUND),
])
def test_each_kind_of_error_has_its_number_and_keeps_its_words(error, code):
    assert errors.record(error, "cuTest") == code
    words = getattr(error, "note", "") or str(error)
    assert errors.take_note().startswith(words)
    assert errors.take_note() == ""


def test_ptx_that_is_not_ptx_is_refused_at_load():
    with pytest.raises(CUDAError, match="INVALID_PTX") as failed:
        cuda.current_context().create_module_ptx(".version 8.0\n.target sm_90\n.address_size 64\n.nonsense\n")
    assert "nonsense" in failed.value.__notes__[0]


def test_every_driver_function_that_the_package_defines_is_reachable():
    names = callbacks.implemented()
    assert {"cuInit", "cuLaunchKernelEx", "cuMemAlloc", "cuEventElapsedTime", "cuLinkComplete"} <= names
    assert len({callbacks.address_of(name) for name in names}) == len(names)


def test_a_name_asked_twice_gets_the_same_stub():
    assert callbacks.address_of("cuNoSuchThing") == callbacks.address_of("cuNoSuchThing")
    assert "cuNoSuchThing" not in callbacks.implemented()
