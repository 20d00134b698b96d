"""Driver functions that launch kernels. A launch runs to its end before the function returns."""
from __future__ import annotations

import ctypes
import struct
import threading

from simt.driver import profiling
from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Pointer, UInt
from simt.driver.errors import NOT_SUPPORTED, DriverError
from simt.driver.libraries import one_kernel
from simt.driver.limits import refuse_impossible
from simt.driver.request import Request
from simt.driver.session import current
from simt.driver.stream_calls import stream_of

_CONFIG = struct.Struct("<7IxxxxQQI")  # CUlaunchConfig: grid, block, dynamic shared bytes, stream, attributes, count
_ATTRIBUTE = struct.Struct("<ixxxxI")  # the start of CUlaunchAttribute: id, and a value that fits in 4 bytes
_ATTRIBUTE_BYTES = 72
_COOPERATIVE, _CLUSTER_DIMENSION = 2, 4  # CU_LAUNCH_ATTRIBUTE_*

# One launch at a time: a kernel has the whole machine to itself, and profiles stay apart.
_one_launch = threading.RLock()


@driver_call(Pointer, Handle, Pointer, Pointer)
def cuLaunchKernelEx(config: int, kernel: int, arguments: int, extra: int) -> None:
    *shape, dynamic, stream, attributes, count = _CONFIG.unpack(ctypes.string_at(config, _CONFIG.size))
    cooperative = _is_cooperative(attributes, count) if count else False
    request = Request(one_kernel(kernel), tuple(shape[:3]), tuple(shape[3:]), dynamic, cooperative)
    _launch(request, stream, arguments, extra)


@driver_call(Handle, UInt, UInt, UInt, UInt, UInt, UInt, UInt, Handle, Pointer, Pointer)
def cuLaunchKernel(kernel: int, *rest: int) -> None:
    *shape, dynamic, stream, arguments, extra = rest
    request = Request(one_kernel(kernel), tuple(shape[:3]), tuple(shape[3:]), dynamic, cooperative=False)
    _launch(request, stream, arguments, extra)


@driver_call(Handle, UInt, UInt, UInt, UInt, UInt, UInt, UInt, Handle, Pointer)
def cuLaunchCooperativeKernel(kernel: int, *rest: int) -> None:
    *shape, dynamic, stream, arguments = rest
    request = Request(one_kernel(kernel), tuple(shape[:3]), tuple(shape[3:]), dynamic, cooperative=True)
    _launch(request, stream, arguments, extra=0)


def _launch(request: Request, stream_handle: int, arguments: int, extra: int) -> None:
    stream = stream_of(stream_handle)
    if extra:
        raise DriverError(NOT_SUPPORTED, "the emulated device takes kernel arguments as an array of pointers only")
    session, kernel = current(), request.kernel
    if request.shape not in kernel.accepted:
        refuse_impossible(request)
        kernel.accepted.add(request.shape)
    with _one_launch:
        parameters = kernel.gather(arguments)
        counted = session.launcher.launch(
            kernel.library.program, kernel.name, request.grid, request.block, request.dynamic_shared_bytes, parameters,
            cooperative=request.cooperative, sampling=profiling.sampling(request),
        )
        duration_ns = session.device.launch_ns
        if counted is not None:
            duration_ns = profiling.finish(request, counted).time_ns or duration_ns
        session.clock.advance(stream, duration_ns)


def _is_cooperative(attributes: int, count: int) -> bool:
    raw = ctypes.string_at(attributes, count * _ATTRIBUTE_BYTES)
    cooperative = False
    for index in range(count):
        number, value = _ATTRIBUTE.unpack_from(raw, index * _ATTRIBUTE_BYTES)
        if number == _COOPERATIVE:
            cooperative = bool(value)
        if number == _CLUSTER_DIMENSION:
            raise DriverError(NOT_SUPPORTED, "the emulated device has no thread block clusters")
    return cooperative
