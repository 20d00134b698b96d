"""Device memory: every range that a kernel may touch, and who asked for it.

A device pointer is a host pointer. Device, managed and pinned memory lies in one arena; arrays of the host that were
registered (``cuda.pinned``, ``cuda.mapped``) stay where they are. ``table()`` lists all live ranges, exact to the
byte, for the bounds check of compiled kernels; everything else here serves the diagnosis of a failed one.

Kernels may read, but not write, constant variables and host memory that the host itself cannot write.

Fresh memory is not zero on a GPU. Up to 64 MiB it is filled with 0xCB here (-26711958.0 as float32), so that a kernel
that adds to memory nobody cleared goes wrong visibly. Larger allocations read as zero: filling them would cost time.
"""
from __future__ import annotations

import bisect
import ctypes
import dataclasses
import threading
from collections import deque

import numpy as np

from simt.runtime.arena import Arena
from simt.runtime.fresh import Fresh

POISON_BYTE = 0xCB
POISON_LIMIT_BYTES = 64 << 20
POISONED_KINDS = frozenset({"device", "managed", "pinned"})
QUARANTINE_LENGTH = 64
REGISTERED = "registered"
CONSTANT = "constant"
READ_ONLY_END = -1 << 63        # this bit of an end in ``table()``: kernels only read the range


class AllocationError(Exception):
    """Memory was asked for, given back or registered wrongly; the message says how."""


class OutOfMemory(AllocationError):
    """The device has no room for the allocation."""


class InvalidPointer(AllocationError):
    """An address that is not the start of a live allocation was given back."""


class AlreadyRegistered(AllocationError):
    """A host range overlaps one that is registered already."""


class NotRegistered(AllocationError):
    """A host range is not registered."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """A range of ``size`` bytes at ``base``.

    kind:   "device", "managed", "pinned", "registered", "constant", or what else the caller of ``alloc`` named
    serial: counts allocations from 1, in the order of their making
    read_only: kernels may not write it
    """

    base: int
    size: int
    kind: str
    serial: int
    read_only: bool = False

    @property
    def end(self) -> int:
        return self.base + self.size

    def distance(self, address: int) -> int:
        """Bytes from the range to an address outside it; 0 inside."""
        return max(self.base - address, address - self.end + 1, 0)


class Memory:
    """All memory of one device; every method may be called from any thread.

    Freed addresses are not handed out again until 64 later frees, so that a use after free meets no newer allocation.
    """

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.used_bytes = 0
        self._arena: Arena | None = None
        self._lock = threading.RLock()
        self._bases: list[int] = []
        self._live: dict[int, Allocation] = {}
        self._freed: deque[Allocation] = deque()
        self._serial = 0
        self._version = 0
        self._table: tuple[np.ndarray, np.ndarray, int] | None = None
        self.fresh: Fresh | None = None

    def follow(self, yes: bool) -> None:
        """Begin or end to note which bytes of fresh memory have been written (simt/runtime/fresh.py); the calls nest."""
        with self._lock:
            if self.fresh is None:
                self.fresh = Fresh()
            self.fresh.users += 1 if yes else -1
            if not self.fresh.users:
                self.fresh = None

    def written(self, address: int, size: int, source: int | None = None) -> None:
        """The host has written a range, or copied it there from ``source``."""
        if self.fresh is not None and source is None:
            self.fresh.written(address, size)
        elif self.fresh is not None:
            self.fresh.copied(address, source, size)

    def alloc(self, size: int, kind: str = "device") -> int:
        """Address of ``size`` fresh bytes, aligned to 256 and more; raises OutOfMemory."""
        if size <= 0:
            raise AllocationError(
                f"an allocation has at least one byte, not {size}: numba asks for 0 where a size of the shape is negative, as "
                "after a product of int32 that wrapped"
            )
        with self._lock:
            if self.used_bytes + size > self.total_bytes:
                raise OutOfMemory(
                    f"{size} B do not fit: the device has {self.total_bytes} B, {self.used_bytes} B are in use"
                )
            base = self._take(size)
            self.used_bytes += size
            self._insert(base, size, kind, kind == CONSTANT)
            if kind == "device" and self.fresh is not None:
                self.fresh.begin(base, size)
        if kind in POISONED_KINDS and size <= POISON_LIMIT_BYTES:
            ctypes.memset(base, POISON_BYTE, size)
        return base

    def free(self, address: int) -> None:
        """End the allocation that starts at ``address``; raises InvalidPointer."""
        with self._lock:
            allocation = self._live.get(address)
            if allocation is None or allocation.kind == REGISTERED:
                raise InvalidPointer(self._why_not_freed(address))
            self._remove(address)
            if self.fresh is not None:
                self.fresh.end(address)
            self.used_bytes -= allocation.size
            self._arena.discard(address, allocation.size)
            self._freed.append(allocation)
            if len(self._freed) > QUARANTINE_LENGTH:
                self._recycle_oldest()

    def register(self, address: int, size: int, read_only: bool = False) -> None:
        """Let kernels reach a range of the host's memory; raises AlreadyRegistered."""
        if size <= 0:
            raise AllocationError(f"a registered range has at least one byte, not {size}")
        with self._lock:
            if other := self._overlapping(address, size):
                raise AlreadyRegistered(f"[{address:#x}, +{size}) overlaps {other.kind} memory at {other.base:#x}")
            self._insert(address, size, REGISTERED, read_only)

    def unregister(self, address: int) -> None:
        """Take back what ``register`` allowed; raises NotRegistered."""
        with self._lock:
            allocation = self._live.get(address)
            if allocation is None or allocation.kind != REGISTERED:
                raise NotRegistered(f"no registered range starts at {address:#x}")
            self._remove(address)

    def find(self, address: int) -> Allocation | None:
        """The live range that holds ``address``."""
        with self._lock:
            index = bisect.bisect_right(self._bases, address) - 1
            if index < 0:
                return None
            allocation = self._live[self._bases[index]]
            return allocation if address < allocation.end else None

    def nearest(self, address: int) -> Allocation | None:
        """The live range with the fewest bytes between it and ``address``; None when nothing is allocated."""
        with self._lock:
            index = bisect.bisect_right(self._bases, address)
            around = [self._live[base] for base in self._bases[max(index - 1, 0):index + 1]]
        return min(around, key=lambda allocation: allocation.distance(address), default=None)

    def freed(self, address: int) -> Allocation | None:
        """The recently freed range that held ``address``, the latest first."""
        with self._lock:
            return next((old for old in reversed(self._freed) if old.base <= address < old.end), None)

    def table(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Sorted int64 arrays of starts and ends of all live ranges, and a version that changes whenever they do.

        The end of a read-only range carries READ_ONLY_END. The arrays are never written again: a kernel may hold them while
        others allocate.
        """
        with self._lock:
            if self._table is None:
                starts = np.array(self._bases, dtype=np.int64)
                live = [self._live[base] for base in self._bases]
                ends = np.array([one.end | READ_ONLY_END if one.read_only else one.end for one in live], dtype=np.int64)
                self._table = starts, ends, self._version
            return self._table

    def close(self) -> None:
        """Give all memory back to the system; every device pointer dangles afterwards."""
        with self._lock:
            if self._arena:
                self._arena.close()
            self._arena, self._table, self.used_bytes = None, None, 0
            self._bases, self._live, self._freed = [], {}, deque()
            self._version += 1

    def _take(self, size: int) -> int:
        if self._arena is None:
            # Twice the device's memory: pieces carry spare pages, and freed addresses wait before they are used again.
            self._arena = Arena(2 * self.total_bytes)
        while (base := self._arena.take(size)) is None:
            if not self._freed:
                raise OutOfMemory(f"this computer cannot back {size} B of device memory")
            self._recycle_oldest()
        return base

    def _recycle_oldest(self) -> None:
        oldest = self._freed.popleft()
        self._arena.give(oldest.base, oldest.size)

    def _insert(self, base: int, size: int, kind: str, read_only: bool) -> None:
        self._serial += 1
        bisect.insort(self._bases, base)
        self._live[base] = Allocation(base, size, kind, self._serial, read_only)
        self._changed()

    def _remove(self, base: int) -> None:
        del self._live[base]
        del self._bases[bisect.bisect_left(self._bases, base)]
        self._changed()

    def _changed(self) -> None:
        self._version += 1
        self._table = None

    def _overlapping(self, address: int, size: int) -> Allocation | None:
        index = bisect.bisect_left(self._bases, address + size)
        before = self._live[self._bases[index - 1]] if index else None
        return before if before and before.end > address else None

    def _why_not_freed(self, address: int) -> str:
        if old := self.freed(address):
            return f"{address:#x} was freed before: it held {old.size} B of {old.kind} memory"
        if inside := self.find(address):
            return f"{address:#x} is {address - inside.base} B inside an allocation: free its start {inside.base:#x}"
        return f"no allocation starts at {address:#x}"
