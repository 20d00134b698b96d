"""Driver functions for streams."""
from __future__ import annotations

import ctypes
import threading

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Int, Pointer, UInt, put_int, put_size
from simt.driver.clock import LEGACY_HANDLES, PER_THREAD_HANDLE, Stream
from simt.driver.context_calls import PRIMARY_CONTEXT
from simt.driver.errors import NOT_SUPPORTED, DriverError
from simt.driver.handles import Handles
from simt.driver.session import current

HIGHEST_PRIORITY = -5
STREAMS: Handles[Stream] = Handles("stream")


def stream_of(handle: int) -> Stream:
    """The stream of a handle, the default ones included; raises CUDA_ERROR_INVALID_HANDLE."""
    if handle in LEGACY_HANDLES:
        return current().clock.legacy
    return current().clock.per_thread() if handle == PER_THREAD_HANDLE else STREAMS.get(handle)


@driver_call(Pointer, UInt)
def cuStreamCreate(stream_out: int, flags: int) -> None:
    put_size(stream_out, STREAMS.add(current().clock.new_stream(flags, 0)))


@driver_call(Pointer, UInt, Int)
def cuStreamCreateWithPriority(stream_out: int, flags: int, priority: int) -> None:
    clamped = min(max(priority, HIGHEST_PRIORITY), 0)
    put_size(stream_out, STREAMS.add(current().clock.new_stream(flags, clamped)))


@driver_call(Handle)
def cuStreamDestroy(handle: int) -> None:
    stream = STREAMS.remove(handle)
    current().clock.drop(stream)


@driver_call(Handle)
def cuStreamSynchronize(handle: int) -> None:
    stream = stream_of(handle)
    current().clock.join(stream)
    finish_host_calls(stream)


@driver_call()
def cuCtxSynchronize() -> None:
    current().clock.join_all()
    finish_host_calls(current().clock.legacy, *(stream for _, stream in STREAMS.items()))


@driver_call(Handle)
def cuStreamQuery(handle: int) -> None:
    stream_of(handle)


@driver_call(Handle, Pointer)
def cuStreamGetFlags(handle: int, flags_out: int) -> None:
    put_int(flags_out, stream_of(handle).flags)


@driver_call(Handle, Pointer)
def cuStreamGetPriority(handle: int, priority_out: int) -> None:
    put_int(priority_out, stream_of(handle).priority)


@driver_call(Pointer, Pointer)
def cuCtxGetStreamPriorityRange(least_out: int, greatest_out: int) -> None:
    put_int(least_out, 0)
    put_int(greatest_out, HIGHEST_PRIORITY)


@driver_call(Handle, Pointer)
def cuStreamGetId(handle: int, id_out: int) -> None:
    put_size(id_out, stream_of(handle).number)


@driver_call(Handle, Pointer)
def cuStreamGetDevice(handle: int, device_out: int) -> None:
    stream_of(handle)
    put_int(device_out, 0)


@driver_call(Handle, Pointer)
def cuStreamGetCtx(handle: int, context_out: int) -> None:
    stream_of(handle)
    put_size(context_out, PRIMARY_CONTEXT)


@driver_call(Handle, Pointer)
def cuStreamIsCapturing(handle: int, status_out: int) -> None:
    stream_of(handle)
    put_int(status_out, 0)


@driver_call(Handle, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer)
def cuStreamGetCaptureInfo(handle: int, status_out: int, *_graph_outputs: int) -> None:
    stream_of(handle)
    put_int(status_out, 0)


@driver_call(Handle, UInt)
def cuStreamBeginCapture(_handle: int, _mode: int) -> None:
    raise DriverError(NOT_SUPPORTED, "the emulated device runs every launch at once and captures no graphs")


@driver_call(Handle, Pointer, Pointer, UInt)
def cuStreamAddCallback(handle: int, function: int, argument: int, _flags: int) -> None:
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    _call_on_driver_thread(handle, signature(function), handle, 0, argument)


@driver_call(Handle, Pointer, Pointer)
def cuLaunchHostFunc(handle: int, function: int, argument: int) -> None:
    _call_on_driver_thread(handle, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function), argument)


def finish_host_calls(*streams: Stream) -> None:
    """Wait for the host functions enqueued on streams, except one that waits for itself."""
    for stream in streams:
        while stream.host_calls:
            thread = stream.host_calls.pop(0)
            if thread is not threading.current_thread():
                thread.join()


def _call_on_driver_thread(handle: int, function: ctypes._CFuncPtr, *arguments: int) -> None:
    """Host functions run on a thread of the driver, one after the other on a stream; earlier work is done by now."""
    stream = stream_of(handle)
    before = stream.host_calls[-1] if stream.host_calls else None

    def run() -> None:
        if before:
            before.join()
        function(*arguments)

    thread = threading.Thread(target=run, name="simt host function", daemon=True)
    stream.host_calls = [call for call in stream.host_calls if call.is_alive()] + [thread]
    thread.start()
