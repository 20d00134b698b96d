"""Driver functions for the driver itself and for contexts: one device, one primary context, a stack per thread."""
from __future__ import annotations

import functools
import threading

from simt.driver.callbacks import Use, driver_call
from simt.driver.cells import Handle, Int, Pointer, Size, UInt, put_int, put_size
from simt.driver.errors import INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, PEER_ACCESS_UNSUPPORTED, DriverError
from simt.driver.handles import FIRST, STEP, Handles
from simt.driver.session import current

PRIMARY_CONTEXT = FIRST - STEP
OTHER_CONTEXTS: Handles[None] = Handles("context")      # they share the device's memory and clock with the primary one
MALLOC_HEAP_SIZE = 2
# CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE: the defaults of the real driver, in bytes
LIMITS = {0: 1024, 1: 1 << 20, MALLOC_HEAP_SIZE: 8 << 20}
OLDEST_VERSION = 13_050
TOOLKIT_WHEELS = ("cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


class _Stack(threading.local):
    """Contexts that this thread has made current; the last one is."""

    def __init__(self) -> None:
        self.contexts: list[int] = []


_stack = _Stack()


def check_device(ordinal: int) -> None:
    """There is one device, number 0; raises CUDA_ERROR_INVALID_DEVICE for any other."""
    if ordinal != 0:
        raise DriverError(INVALID_DEVICE, f"there is no device {ordinal}: the emulated device is number 0")


@functools.cache
def driver_version() -> int:
    """1000 * major + 10 * minor, as new as the newest toolkit part installed: NVRTC and nvJitLink refuse older ones."""
    from importlib import metadata

    versions = [OLDEST_VERSION]
    for wheel in TOOLKIT_WHEELS:
        try:
            major, minor = metadata.version(wheel).split(".")[:2]
        except metadata.PackageNotFoundError:
            continue
        versions.append(1000 * int(major) + 10 * int(minor))
    return max(versions)


@driver_call(UInt)
def cuInit(_flags: int) -> None:
    Use.begun = True


@driver_call(Pointer)
def cuDriverGetVersion(version_out: int) -> None:
    put_int(version_out, driver_version())


@driver_call(Pointer, Int)
def cuDevicePrimaryCtxRetain(context_out: int, device: int) -> None:
    check_device(device)
    current().context_made = True
    put_size(context_out, PRIMARY_CONTEXT)


@driver_call(Int)
def cuDevicePrimaryCtxRelease(device: int) -> None:
    check_device(device)


@driver_call(Int)
def cuDevicePrimaryCtxReset(device: int) -> None:
    check_device(device)


@driver_call(Int, UInt)
def cuDevicePrimaryCtxSetFlags(device: int, _flags: int) -> None:
    check_device(device)


@driver_call(Int, Pointer, Pointer)
def cuDevicePrimaryCtxGetState(device: int, flags_out: int, active_out: int) -> None:
    check_device(device)
    put_int(flags_out, 0)
    put_int(active_out, int(current().context_made))


@driver_call(Pointer, Pointer, UInt, Int)
def cuCtxCreate(context_out: int, _parameters: int, _flags: int, device: int) -> None:
    """As of CUDA 13; earlier versions lack the second argument."""
    check_device(device)
    context = OTHER_CONTEXTS.add(None)
    _stack.contexts.append(context)
    put_size(context_out, context)


@driver_call(Handle)
def cuCtxDestroy(context: int) -> None:
    OTHER_CONTEXTS.remove(context)
    if _stack.contexts[-1:] == [context]:
        _stack.contexts.pop()


@driver_call(Handle)
def cuCtxPushCurrent(context: int) -> None:
    _check_context(context)
    _stack.contexts.append(context)


@driver_call(Pointer)
def cuCtxPopCurrent(context_out: int) -> None:
    if not _stack.contexts:
        raise DriverError(INVALID_CONTEXT, "this thread has no current context to pop")
    context = _stack.contexts.pop()
    if context_out:
        put_size(context_out, context)


@driver_call(Handle)
def cuCtxSetCurrent(context: int) -> None:
    del _stack.contexts[-1:]
    if context:
        _check_context(context)
        _stack.contexts.append(context)


@driver_call(Pointer)
def cuCtxGetCurrent(context_out: int) -> None:
    put_size(context_out, _stack.contexts[-1] if _stack.contexts else 0)


@driver_call(Pointer)
def cuCtxGetDevice(device_out: int) -> None:
    if not _stack.contexts:
        raise DriverError(INVALID_CONTEXT, "this thread has no current context")
    put_int(device_out, 0)


@driver_call(Handle, Pointer)
def cuCtxGetId(context: int, id_out: int) -> None:
    put_size(id_out, context)


@driver_call(Handle, Pointer)
def cuCtxGetApiVersion(_context: int, version_out: int) -> None:
    put_int(version_out, driver_version())


@driver_call(Pointer)
def cuCtxGetFlags(flags_out: int) -> None:
    put_int(flags_out, 0)


@driver_call(Handle, UInt)
def cuCtxEnablePeerAccess(_context: int, _flags: int) -> None:
    raise DriverError(PEER_ACCESS_UNSUPPORTED, "the emulated device has no peers")


@driver_call(Pointer, Int)
def cuCtxGetLimit(value_out: int, limit: int) -> None:
    put_size(value_out, LIMITS.get(limit, 0))


@driver_call(Int, Size)
def cuCtxSetLimit(limit: int, value: int) -> None:
    if limit == MALLOC_HEAP_SIZE and not current().launcher.heap.resize(value):
        raise DriverError(INVALID_VALUE, "a kernel has used the heap: set its size before the first launch that calls malloc")
    LIMITS[limit] = value


@driver_call()
def cuProfilerStart() -> None:
    """Accepted for programs that bracket themselves for a profiler; ``simt.profile`` is this device's."""


@driver_call()
def cuProfilerStop() -> None:
    """See cuProfilerStart."""


def _check_context(context: int) -> None:
    if context != PRIMARY_CONTEXT and context not in OTHER_CONTEXTS:
        raise DriverError(INVALID_CONTEXT, f"{context:#x} is no context of the emulated device")
