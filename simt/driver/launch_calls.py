"""Driver functions that launch kernels. A launch runs to its end before the function returns."""
from __future__ import annotations

import ctypes
import dataclasses
import math
import struct
import threading

from simt.driver import profiling
from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Pointer, UInt
from simt.driver.errors import (
    COOPERATIVE_LAUNCH_TOO_LARGE,
    INVALID_VALUE,
    LAUNCH_OUT_OF_RESOURCES,
    NOT_SUPPORTED,
    DriverError,
)
from simt.driver.libraries import Kernel, one_kernel
from simt.driver.session import current
from simt.driver.stream_calls import stream_of

_CONFIG = struct.Struct("<7IxxxxQQI")  # CUlaunchConfig: grid, block, dynamic shared bytes, stream, attributes, count
_ATTRIBUTE = struct.Struct("<ixxxxI")  # the start of CUlaunchAttribute: id, and a value that fits in 4 bytes
_ATTRIBUTE_BYTES = 72
_COOPERATIVE, _CLUSTER_DIMENSION = 2, 4  # CU_LAUNCH_ATTRIBUTE_*
_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_AXES = "xyz"

# One launch at a time: a kernel has the whole machine to itself, and profiles stay apart.
_one_launch = threading.RLock()


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What a launch asks for, besides its arguments."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    cooperative: bool

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    @property
    def shape(self) -> tuple:
        """What decides whether the launch is allowed."""
        return self.grid, self.block, self.dynamic_shared_bytes, self.cooperative, current().device.name


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
        _check(request)
        kernel.accepted.add(request.shape)
    with _one_launch:
        parameters = kernel.gather(arguments)
        counted = session.launcher.launch(
            kernel.library.program, kernel.name, request.grid, request.block, request.dynamic_shared_bytes, parameters,
            cooperative=request.cooperative, sampling=profiling.sampling(),
        )
        duration_ns = session.device.launch_ns
        if counted is not None:
            duration_ns = profiling.finish(request, counted).time_ns
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


def _check(request: Request) -> None:
    """Refuse what the real driver refuses, and say why."""
    for what, shape, limits in (("grid", request.grid, _MAX_GRID), ("block", request.block, _MAX_BLOCK)):
        for axis, extent, limit in zip(_AXES, shape, limits, strict=True):
            if not 0 < extent <= limit:
                raise DriverError(INVALID_VALUE, f"{what} {shape}: the {axis} extent must be 1 to {limit}")
    _check_block(request)
    if request.cooperative:
        _check_cooperative(request)


def _check_block(request: Request) -> None:
    kernel, threads = request.kernel, request.threads_per_block
    device = current().device
    if threads > device.threads_per_block:
        raise DriverError(
            INVALID_VALUE,
            f"block {request.block} has {threads} threads; a block has at most {device.threads_per_block}",
        )
    if threads > kernel.launch_bound:
        raise DriverError(
            INVALID_VALUE, f"{threads} threads per block; the kernel was compiled for {kernel.launch_bound} (launch_bounds)"
        )
    if threads > kernel.max_threads_per_block:
        raise DriverError(
            LAUNCH_OUT_OF_RESOURCES,
            f"{threads} threads of {kernel.facts.registers} registers need more than the {device.registers_per_sm} "
            "registers of a multiprocessor: launch smaller blocks, or compile with max_registers",
        )
    if request.dynamic_shared_bytes > kernel.dynamic_shared_limit:
        raise DriverError(
            INVALID_VALUE,
            f"{request.dynamic_shared_bytes} B of dynamic shared memory; with {kernel.facts.static_shared_bytes} B "
            f"of static ones this kernel may ask for {kernel.dynamic_shared_limit} B",
        )


def _check_cooperative(request: Request) -> None:
    blocks = math.prod(request.grid)
    per_sm = request.kernel.blocks_per_sm(request.threads_per_block, request.dynamic_shared_bytes)
    resident = per_sm * current().device.sm_count
    if blocks > resident:
        raise DriverError(
            COOPERATIVE_LAUNCH_TOO_LARGE,
            f"{blocks} blocks wait for each other, but only {resident} of them fit on the device at once: "
            "kernel.max_cooperative_grid_blocks(block) tells how many do",
        )
