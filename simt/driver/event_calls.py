"""Driver functions for events: they hold device time, never the emulator's own."""
from __future__ import annotations

import dataclasses

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Pointer, UInt, put_float, put_size
from simt.driver.clock import Stream
from simt.driver.errors import INVALID_HANDLE, DriverError
from simt.driver.handles import Handles
from simt.driver.session import current
from simt.driver.stream_calls import finish_host_calls, stream_of

DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING
NS_PER_MS = 1e6


@dataclasses.dataclass(eq=False, slots=True)
class Event:
    """A moment of device time: the end of what its stream had to do when it was recorded."""

    timed: bool
    recorded_ns: float | None = None
    stream: Stream | None = None


EVENTS: Handles[Event] = Handles("event")


@driver_call(Pointer, UInt)
def cuEventCreate(event_out: int, flags: int) -> None:
    put_size(event_out, EVENTS.add(Event(timed=not flags & DISABLE_TIMING)))


@driver_call(Handle, Handle)
def cuEventRecord(handle: int, stream_handle: int) -> None:
    event, stream = EVENTS.get(handle), stream_of(stream_handle)
    _detach(handle, event)
    event.recorded_ns, event.stream = current().clock.start_ns(stream), stream
    if event.timed:
        stream.timing.add(handle)


@driver_call(Handle, Handle, UInt)
def cuEventRecordWithFlags(handle: int, stream_handle: int, _flags: int) -> None:
    cuEventRecord(handle, stream_handle)


@driver_call(Handle)
def cuEventQuery(handle: int) -> None:
    EVENTS.get(handle)


@driver_call(Handle)
def cuEventSynchronize(handle: int) -> None:
    event, clock = EVENTS.get(handle), current().clock
    if event.stream:
        clock.host_ns = max(clock.host_ns, event.recorded_ns)
        finish_host_calls(event.stream)


@driver_call(Handle, Handle, UInt)
def cuStreamWaitEvent(stream_handle: int, handle: int, _flags: int) -> None:
    event, stream = EVENTS.get(handle), stream_of(stream_handle)
    if event.recorded_ns is not None:
        current().clock.wait(stream, event.recorded_ns)


@driver_call(Handle)
def cuEventDestroy(handle: int) -> None:
    _detach(handle, EVENTS.remove(handle))


@driver_call(Pointer, Handle, Handle)
def cuEventElapsedTime(milliseconds_out: int, start: int, end: int) -> None:
    first, last = EVENTS.get(start), EVENTS.get(end)
    for event in (first, last):
        if not event.timed:
            raise DriverError(INVALID_HANDLE, "the event was created without timing: cuda.event(timing=True)")
        if event.recorded_ns is None:
            raise DriverError(INVALID_HANDLE, "the event was never recorded: call event.record(stream) first")
    put_float(milliseconds_out, (last.recorded_ns - first.recorded_ns) / NS_PER_MS)


def _detach(handle: int, event: Event) -> None:
    if event.stream:
        event.stream.timing.discard(handle)
