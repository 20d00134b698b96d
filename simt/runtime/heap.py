"""The heap of device code: what malloc and free inside kernels share, one allocation of device memory.

An access past a block's end but inside the heap is not noticed, as on a GPU.
"""
from __future__ import annotations

import bisect
import threading
from typing import TYPE_CHECKING

from simt.isa.calls import HEAP_BYTES

if TYPE_CHECKING:
    from simt.runtime.memory import Memory

ALIGN_BYTES = 16


class Heap:
    """First fit, in blocks that 16 divides. Its memory is taken when the first kernel that allocates is launched."""

    def __init__(self, memory: Memory):
        self.memory, self.size_bytes = memory, HEAP_BYTES
        self.base: int | None = None
        self.used: dict[int, int] = {}      # start of each block given -> its size
        self.starts: list[int] = []         # of the holes, in order
        self.holes: dict[int, int] = {}
        self.lock = threading.Lock()

    def begin(self) -> None:
        """Have memory."""
        with self.lock:
            if self.base is None:
                self.base = self.memory.alloc(self.size_bytes, "device heap")
                self.starts, self.holes = [self.base], {self.base: self.size_bytes}

    def resize(self, size_bytes: int) -> bool:
        """Ask for another size; only before the first use. Returns whether that was so."""
        with self.lock:
            if self.base is None:
                self.size_bytes = max(size_bytes, ALIGN_BYTES)
            return self.base is None

    def allocate(self, size: int) -> int:
        """The address of so many bytes; 0 if no hole is large enough, and for no bytes."""
        size = -(-size // ALIGN_BYTES) * ALIGN_BYTES
        with self.lock:
            start = next((start for start in self.starts if size and self.holes[start] >= size), 0)
            if start:
                hole = self.holes.pop(start)
                self.starts.remove(start)
                self.used[start] = size
                if hole > size:
                    self.add_hole(start + size, hole - size)
            return start

    def release(self, address: int) -> bool:
        """Take a block back; False for an address that was not given, or was taken back before."""
        with self.lock:
            size = self.used.pop(address, 0)
            if size:
                self.add_hole(address, size)
            return size > 0

    def add_hole(self, start: int, size: int) -> None:
        """Join it with the holes before and behind it."""
        index = bisect.bisect_left(self.starts, start)
        if index < len(self.starts) and self.starts[index] == start + size:
            size += self.holes.pop(self.starts.pop(index))
        before = self.starts[index - 1] if index else None
        if before is not None and before + self.holes[before] == start:
            self.holes[before] += size
            return
        self.starts.insert(index, start)
        self.holes[start] = size
