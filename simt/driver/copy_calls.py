"""Driver functions that copy and fill memory. Both ends are checked first: a copy never leaves its allocation."""
from __future__ import annotations

import ctypes

import numpy as np

from simt.driver.callbacks import driver_call
from simt.driver.cells import Byte, Handle, Pointer, Short, Size, UInt
from simt.driver.clock import Stream
from simt.driver.errors import INVALID_VALUE, DriverError
from simt.driver.session import current
from simt.driver.stream_calls import stream_of

LEGACY = 0
PCIE_GB_PER_S = 25.0
"""Pinned copies over PCIe 4.0 x16, of its 31.5 GB/s: an order of magnitude, the same for every modelled device."""


def host_copy_ns(size: int) -> float:
    """Device time of a copy between host and device; to start one takes as long as to start a kernel."""
    return current().device.launch_ns + size / PCIE_GB_PER_S  # bytes / (GB/s) are ns


def device_copy_ns(size: int, passes: int) -> float:
    """Device time of moving ``size`` bytes through DRAM: 2 passes for a copy, 1 for a fill."""
    device = current().device
    return device.launch_ns + passes * size / device.dram_gb_per_s


@driver_call(Handle, Pointer, Size)
def cuMemcpyHtoD(target: int, source: int, size: int) -> None:
    _copy_in(target, source, size, LEGACY)
    _wait(LEGACY)


@driver_call(Handle, Pointer, Size, Handle)
def cuMemcpyHtoDAsync(target: int, source: int, size: int, stream: int) -> None:
    _copy_in(target, source, size, stream)


@driver_call(Pointer, Handle, Size)
def cuMemcpyDtoH(target: int, source: int, size: int) -> None:
    _copy_out(target, source, size, LEGACY)
    _wait(LEGACY)


@driver_call(Pointer, Handle, Size, Handle)
def cuMemcpyDtoHAsync(target: int, source: int, size: int, stream: int) -> None:
    _copy_out(target, source, size, stream)


@driver_call(Handle, Handle, Size)
def cuMemcpyDtoD(target: int, source: int, size: int) -> None:
    _copy_within(target, source, size, LEGACY)


@driver_call(Handle, Handle, Size, Handle)
def cuMemcpyDtoDAsync(target: int, source: int, size: int, stream: int) -> None:
    _copy_within(target, source, size, stream)


@driver_call(Handle, Handle, Size)
def cuMemcpy(target: int, source: int, size: int) -> None:
    _copy_any(target, source, size, LEGACY)
    _wait(LEGACY)


@driver_call(Handle, Handle, Size, Handle)
def cuMemcpyAsync(target: int, source: int, size: int, stream: int) -> None:
    _copy_any(target, source, size, stream)


@driver_call(Handle, Byte, Size)
def cuMemsetD8(target: int, value: int, count: int) -> None:
    _fill(target, value, count, np.uint8, LEGACY)


@driver_call(Handle, Byte, Size, Handle)
def cuMemsetD8Async(target: int, value: int, count: int, stream: int) -> None:
    _fill(target, value, count, np.uint8, stream)


@driver_call(Handle, Short, Size)
def cuMemsetD16(target: int, value: int, count: int) -> None:
    _fill(target, value, count, np.uint16, LEGACY)


@driver_call(Handle, Short, Size, Handle)
def cuMemsetD16Async(target: int, value: int, count: int, stream: int) -> None:
    _fill(target, value, count, np.uint16, stream)


@driver_call(Handle, UInt, Size)
def cuMemsetD32(target: int, value: int, count: int) -> None:
    _fill(target, value, count, np.uint32, LEGACY)


@driver_call(Handle, UInt, Size, Handle)
def cuMemsetD32Async(target: int, value: int, count: int, stream: int) -> None:
    _fill(target, value, count, np.uint32, stream)


def _copy_in(target: int, source: int, size: int, stream: int) -> None:
    _check("target", target, size)
    _move(target, source, size, stream_of(stream), host_copy_ns(size))


def _copy_out(target: int, source: int, size: int, stream: int) -> None:
    _check("source", source, size)
    _move(target, source, size, stream_of(stream), host_copy_ns(size))


def _copy_within(target: int, source: int, size: int, stream: int) -> None:
    _check("target", target, size)
    _check("source", source, size)
    _move(target, source, size, stream_of(stream), device_copy_ns(size, passes=2))


def _copy_any(target: int, source: int, size: int, stream: int) -> None:
    """Either end may be memory of the host that the driver has never heard of."""
    memory = current().memory
    known = [end for end in (("target", target), ("source", source)) if memory.find(end[1])]
    for name, address in known:
        _check(name, address, size)
    duration = device_copy_ns(size, passes=2) if len(known) == 2 else host_copy_ns(size)
    _move(target, source, size, stream_of(stream), duration)


def _move(target: int, source: int, size: int, stream: Stream, duration_ns: float) -> None:
    if size:
        ctypes.memmove(target, source, size)
        current().memory.written(target, size, source)
    current().clock.advance(stream, duration_ns)


def _fill(target: int, value: int, count: int, dtype: type[np.unsignedinteger], stream_handle: int) -> None:
    stream = stream_of(stream_handle)
    cell = np.dtype(dtype)
    size = count * cell.itemsize
    _check("target", target, size)
    if size:
        np.frombuffer((ctypes.c_char * size).from_address(target), cell)[:] = value
        current().memory.written(target, size)
    current().clock.advance(stream, device_copy_ns(size, passes=1))


def _wait(stream: int) -> None:
    current().clock.join(stream_of(stream))


def _check(role: str, address: int, size: int) -> None:
    """Raise CUDA_ERROR_INVALID_VALUE unless one allocation holds all of the range."""
    memory = current().memory
    allocation = memory.find(address)
    if size == 0 or allocation and address + size <= allocation.end:
        return
    if allocation:
        what = f"leaves its allocation of {allocation.size} B by {address + size - allocation.end} B"
    elif old := memory.freed(address):
        what = f"lies in memory that was freed: {old.size} B at {old.base:#x}"
    else:
        what = "is no memory of the device"
    raise DriverError(INVALID_VALUE, f"the {role} of a copy, {size} B at {address:#x}, {what}")
