"""Arrays and copies through numba's own functions, and copies that would leave their allocation."""
from __future__ import annotations

import gc

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError

from simt.driver.session import current
from simt.runtime.memory import POISON_BYTE


def test_what_goes_in_comes_out(seed):
    host = np.random.default_rng(seed).standard_normal((17, 33))
    assert np.array_equal(cuda.to_device(host).copy_to_host(), host)


def test_slices_of_a_device_array_are_parts_of_it():
    device = cuda.to_device(np.arange(100).reshape(10, 10))
    device[2:4].copy_to_device(-np.ones((2, 10), int))
    assert (device.copy_to_host()[2:4] == -1).all()
    assert np.array_equal(device[5].copy_to_host(), np.arange(50, 60))


def test_a_new_device_array_holds_poison():
    assert set(cuda.device_array(100, np.uint8).copy_to_host()) == {POISON_BYTE}
    like = cuda.device_array_like(np.zeros((3, 4), np.float32))
    assert (like.shape, like.dtype) == ((3, 4), np.float32)


def test_kernels_work_on_pinned_mapped_and_managed_arrays(increment):
    for array in (cuda.mapped_array(64, np.float32), cuda.managed_array(64, np.float32)):
        array[:] = 3
        increment[1, 64](array)
        assert (np.asarray(array) == 4).all()
    pinned = cuda.pinned_array(64, np.float32)
    pinned[:] = 5
    assert (cuda.to_device(pinned).copy_to_host() == 5).all()
    host = np.ones(64, np.float32)
    with cuda.mapped(host) as mapped:
        increment[1, 64](mapped)
    assert (host == 2).all()
    assert current().memory.find(host.ctypes.data) is None
    with cuda.pinned(host):
        assert current().memory.find(host.ctypes.data).kind == "registered"


def test_device_to_device_and_fills():
    source, target = cuda.to_device(np.arange(10, dtype=np.int32)), cuda.device_array(10, np.int32)
    target.copy_to_device(source)
    assert target.copy_to_host().tolist() == list(range(10))
    address = target.device_ctypes_pointer.value
    for fill, value, width in ((cuda_driver.cuMemsetD8, 0x12, 1), (cuda_driver.cuMemsetD16, 0x1234, 2),
                               (cuda_driver.cuMemsetD32, 0x12345678, 4)):
        (code,) = fill(address, value, 8 // width)
        assert code == 0
        assert target.copy_to_host()[:2].tobytes() == value.to_bytes(width, "little") * (8 // width)


@pytest.mark.parametrize("size, said", [(401, "leaves its allocation of 400 B by 1 B"), (4000, "by 3600 B")])
def test_a_copy_that_leaves_its_allocation_moves_nothing_and_says_by_how_much(size, said):
    device, host = cuda.to_device(np.zeros(100, np.float32)), np.ones(1000, np.float32)
    driver = cuda.cudadrv.driver.driver
    for copy in (lambda: driver.cuMemcpyHtoD(device.device_ctypes_pointer.value, host.ctypes.data, size),
                 lambda: driver.cuMemcpyDtoH(host.ctypes.data, device.device_ctypes_pointer.value, size)):
        with pytest.raises(CudaAPIError, match="INVALID_VALUE") as failed:
            copy()
        assert said in failed.value.__notes__[0]
    assert not device.copy_to_host().any() and host.all()


def test_a_copy_into_freed_memory_is_named_as_such():
    address = int(cuda_driver.cuMemAlloc(64)[1])
    cuda_driver.cuMemFree(address)
    with pytest.raises(CudaAPIError) as failed:
        cuda.cudadrv.driver.driver.cuMemsetD8(address, 0, 64)
    assert "memory that was freed" in failed.value.__notes__[0]


def test_free_memory_shrinks_by_what_is_allocated():
    context = cuda.current_context()
    gc.collect()
    context.deallocations.clear()       # arrays of earlier tests, which numba frees when it likes
    before = context.get_memory_info()
    held = cuda.device_array(1 << 20, np.uint8)
    assert before.free - context.get_memory_info().free == held.nbytes
    assert before.total == current().memory.total_bytes


def test_more_than_the_device_has_is_out_of_memory():
    with pytest.raises(CudaAPIError, match="OUT_OF_MEMORY") as failed:
        cuda.device_array(current().memory.total_bytes + 1, np.uint8)
    assert "do not fit" in failed.value.__notes__[0]


def test_pool_memory_is_memory():
    _, pool = cuda_driver.cuDeviceGetDefaultMemPool(0)
    code, address = cuda_driver.cuMemAllocFromPoolAsync(100, pool, 0)
    assert code == 0
    assert current().memory.find(int(address)).size == 100
    assert cuda_driver.cuMemFreeAsync(address, 0)[0] == 0


def test_pointers_tell_what_they_point_to():
    kinds = cuda_driver.CUpointer_attribute
    device, managed = cuda.device_array(4), cuda.managed_array(4)
    address = device.device_ctypes_pointer.value + 8
    ask = cuda_driver.cuPointerGetAttribute
    assert int(ask(kinds.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address)[1]) == address
    assert ask(kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)[1] == cuda_driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    assert ask(kinds.CU_POINTER_ATTRIBUTE_IS_MANAGED, managed.__array_interface__["data"][0])[1]
    _, base, size = cuda_driver.cuMemGetAddressRange(address)
    assert (int(base), size) == (address - 8, 32)
    assert ask(kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x4711)[0] == cuda_driver.CUresult.CUDA_ERROR_INVALID_VALUE
