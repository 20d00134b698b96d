"""The device that programs see has the numbers of the modelled part."""
from __future__ import annotations

from importlib import metadata

import pytest
from cuda.bindings import driver as cuda_driver
from numba import cuda

import simt
from simt.driver import session
from simt.driver.context_calls import driver_version
from simt.driver.device_calls import cuDeviceGetAttribute
from simt.driver.errors import DriverError
from simt.model.device import load, names

ATTRIBUTE = cuda_driver.CUdevice_attribute


def attribute(name: str) -> int:
    code, value = cuda_driver.cuDeviceGetAttribute(getattr(ATTRIBUTE, f"CU_DEVICE_ATTRIBUTE_{name}"), 0)
    assert code == 0
    return value


@pytest.mark.parametrize("name", names())
def test_attributes_are_those_of_the_modelled_part(name, as_device):
    as_device(name)
    part = load(name)
    seen = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    assert seen == part.compute_capability
    assert attribute("MULTIPROCESSOR_COUNT") == part.sm_count
    assert attribute("CLOCK_RATE") == pytest.approx(part.clock_ghz * 1e6)
    assert attribute("MAX_THREADS_PER_MULTIPROCESSOR") == part.threads_per_sm
    assert attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") == part.shared_bytes_per_block_optin
    assert attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") == part.shared_bytes_per_sm
    assert attribute("L2_CACHE_SIZE") == part.l2_bytes
    assert cuda_driver.cuDeviceTotalMem(0) == (0, part.memory_gib << 30)
    assert cuda_driver.cuDeviceGetName(200, 0)[1].partition(b"\0")[0].decode() == f"{part.title} (emulated)"


def test_the_compute_capabilities_are_the_real_parts():
    assert {name: load(name).compute_capability for name in names()} == {
        "h100": (9, 0), "h200": (9, 0), "a100": (8, 0), "a6000": (8, 6), "t4": (7, 5), "rtx4090": (8, 9),
    }


def test_what_the_device_lacks_is_zero_and_what_no_device_has_is_an_error():
    assert attribute("INTEGRATED") == 0
    with pytest.raises(DriverError, match="no device attribute 99999"):
        cuDeviceGetAttribute(0, 99_999, 0)


def test_numba_detects_one_supported_device(capsys):
    assert cuda.detect()
    assert "1/1 devices are supported" in capsys.readouterr().out
    assert cuda.is_available() and len(cuda.gpus) == 1


def test_there_is_no_second_device():
    code, *_ = cuda_driver.cuDeviceGet(1)
    assert code == cuda_driver.CUresult.CUDA_ERROR_INVALID_DEVICE


def test_the_driver_is_as_new_as_every_part_of_the_toolkit():
    major, minor = map(int, metadata.version("nvidia-cuda-nvrtc").split(".")[:2])
    assert driver_version() >= max(13_050, 1000 * major + 10 * minor)
    assert cuda_driver.cuDriverGetVersion() == (0, driver_version())


def test_a_part_of_another_compute_capability_comes_too_late_once_a_context_exists():
    cuda.current_context()
    other = next(name for name in names() if load(name).compute_capability != simt.device().compute_capability)
    with pytest.raises(ValueError, match=f"SIMT_DEVICE={other}"):
        simt.set_device(other)
    with pytest.raises(ValueError, match="did you mean 'a100'"):
        simt.set_device("a10")


def test_a_part_of_the_same_compute_capability_may_be_chosen_at_any_time(as_device):
    as_device("h100")
    session.current().context_made = True
    before = simt.device().name
    try:
        simt.set_device("h200")
        assert simt.device() is load("h200")
        assert cuda_driver.cuDeviceTotalMem(0) == (0, load("h200").memory_gib << 30)
    finally:
        simt.set_device(before)


def test_before_the_first_context_any_part_may_be_chosen(as_device):
    as_device("h100")
    try:
        simt.set_device("t4")
        assert attribute("COMPUTE_CAPABILITY_MAJOR") == 7
    finally:
        simt.set_device("h100")


def test_numba_refuses_a_context_that_somebody_else_made_current():
    code, made = cuda_driver.cuCtxCreate(None, 0, cuda_driver.CUdevice(0))
    assert code == 0
    try:
        with pytest.raises(RuntimeError, match="non-primary CUDA context"):
            cuda.current_context()
    finally:
        cuda_driver.cuCtxDestroy(made)
    assert cuda.current_context().device.id == 0
