"""Host memory that kernels reach: what the host itself cannot write, kernels cannot either, and nobody crashes."""
from __future__ import annotations

import mmap

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda

from simt.driver import errors
from simt.driver.session import current

READ_ONLY = 0x08        # CU_MEMHOSTREGISTER_READ_ONLY


@pytest.fixture
def registered():
    """``registered(array, flags)`` lets kernels reach an array of the host until the test ends; gives it as a device array."""
    addresses = []

    def register(array: np.ndarray, flags: int = 0):
        address = array.ctypes.data
        code, = cuda_driver.cuMemHostRegister(address, array.nbytes, flags)
        assert code == cuda_driver.CUresult.CUDA_SUCCESS
        addresses.append(address)

        class Mapped:
            __cuda_array_interface__ = {
                "shape": array.shape, "typestr": array.dtype.str, "data": (address, False), "version": 3}

        return cuda.as_cuda_array(Mapped)

    yield register
    for address in addresses:
        cuda_driver.cuMemHostUnregister(address)


@pytest.mark.parametrize("how", ["a closed mapping", "a flag"])
def test_a_store_to_host_memory_for_reading_is_a_fault_and_not_a_crash(increment, registered, how):
    if how == "a flag":
        host = np.zeros(64, np.float32)
        array = registered(host, READ_ONLY)
    else:
        host = np.frombuffer(mmap.mmap(-1, 256, prot=mmap.PROT_READ), np.float32)
        array = registered(host)
    with pytest.raises(CUDAError, match="ILLEGAL_ADDRESS") as failed:
        increment[1, 64](array)
    assert "write to read-only memory" in failed.value.__notes__[0]
    assert "256 bytes of host memory that is registered for reading only" in failed.value.__notes__[0]
    assert not host.any()


def test_host_memory_that_the_host_can_write_is_written(increment, registered):
    host = np.zeros(64, np.float32)
    increment[1, 64](registered(host))
    assert host.tolist() == [1] * 64
    assert not current().memory.find(host.ctypes.data).read_only


def test_memory_that_is_not_there_is_not_registered():
    code, = cuda_driver.cuMemHostRegister(1 << 12, 64, 0)
    assert code == cuda_driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert "has no memory of 64 B at 0x1000" in errors.take_note()
