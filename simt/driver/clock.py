"""Device time: when each stream's last work ends, in nanoseconds since the driver began.

No wall time enters. Work on a stream starts when the stream's earlier work has ended, when the host has come to enqueue
it (the host waits only in synchronising calls; its own computing takes no time here), and, between the legacy default
stream and the blocking ones, when the other side's work has ended (CUDA programming guide, "Default Stream").
"""
from __future__ import annotations

import dataclasses
import itertools
import threading

LEGACY_HANDLES = (0, 1)  # 0 and CU_STREAM_LEGACY
PER_THREAD_HANDLE = 2  # CU_STREAM_PER_THREAD
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING


@dataclasses.dataclass(eq=False, slots=True)
class Stream:
    """One queue of work.

    end_ns:       device time at which its work so far ends
    timing:       handles of the live events with timing that were last recorded here
    host_calls:   threads that run host functions enqueued here
    """

    flags: int = 0
    priority: int = 0
    end_ns: float = 0.0
    number: int = 0
    timing: set[int] = dataclasses.field(default_factory=set)
    host_calls: list[threading.Thread] = dataclasses.field(default_factory=list)

    @property
    def blocking(self) -> bool:
        """Whether it waits for the legacy default stream, and that one for it."""
        return not self.flags & NON_BLOCKING


class Clock:
    """The end times of all streams of the device."""

    def __init__(self) -> None:
        self.host_ns = 0.0
        self.legacy = Stream()
        self._numbers = itertools.count(1)
        self._per_thread = threading.local()
        self._streams: list[Stream] = []

    @property
    def timed(self) -> bool:
        """Whether a live event with timing was recorded on any stream: streams wait for each other, so its time may depend
        on work anywhere."""
        return bool(self.legacy.timing) or any(stream.timing for stream in self._streams)

    def new_stream(self, flags: int, priority: int) -> Stream:
        stream = Stream(flags, priority, number=next(self._numbers))
        self._streams.append(stream)
        return stream

    def drop(self, stream: Stream) -> None:
        """Forget a destroyed stream; work on it counts as enqueued before."""
        self._streams.remove(stream)
        self.legacy.end_ns = max(self.legacy.end_ns, stream.end_ns)

    def per_thread(self) -> Stream:
        """The calling thread's default stream."""
        if not hasattr(self._per_thread, "stream"):
            self._per_thread.stream = self.new_stream(0, 0)
        return self._per_thread.stream

    def start_ns(self, stream: Stream) -> float:
        """When work enqueued on the stream now would start."""
        start = max(stream.end_ns, self.host_ns)
        if stream is self.legacy:
            return max([start, *(other.end_ns for other in self._streams if other.blocking)])
        return max(start, self.legacy.end_ns) if stream.blocking else start

    def advance(self, stream: Stream, duration_ns: float) -> None:
        """Enqueue work that takes that long."""
        stream.end_ns = self.start_ns(stream) + duration_ns

    def wait(self, stream: Stream, moment_ns: float) -> None:
        """Let the stream's later work start no earlier than at that moment."""
        stream.end_ns = max(stream.end_ns, moment_ns)

    def join(self, stream: Stream) -> None:
        """The host waits for one stream."""
        self.host_ns = max(self.host_ns, self.start_ns(stream))

    def join_all(self) -> None:
        """The host waits for the device."""
        self.host_ns = max([self.start_ns(self.legacy), *(stream.end_ns for stream in self._streams)])
