"""One reserved range of the host's address space that device memory is cut from.

Reserving costs no memory: pages become real when they are first touched and go back to the system when discarded.
Every piece starts on a page and is followed by at least one page that belongs to nobody, so an address just past
the end of an allocation is never inside another one.
"""
from __future__ import annotations

import bisect
import ctypes
import functools
import mmap

PAGE = mmap.PAGESIZE
COMMIT_STEP_BYTES = 64 << 20
HUGE_PAGE_BYTES = 2 << 20
SMALLEST_RESERVE_BYTES = 1 << 30

# Linux' own numbers (asm-generic/mman-common.h): Python's mmap module lacks some of them before 3.13.
_PROT_NONE, _PROT_READ_WRITE = 0x0, 0x3
_MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_NORESERVE = 0x02, 0x20, 0x4000
_MADV_DONTNEED, _MADV_HUGEPAGE = 4, 14
_MAP_FAILED = ctypes.c_void_p(-1).value


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    size, address, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    libc.mmap.restype, libc.mmap.argtypes = address, (address, size, number, number, number, ctypes.c_long)
    libc.mprotect.argtypes = (address, size, number)
    libc.madvise.argtypes = (address, size, number)
    libc.munmap.argtypes = (address, size)
    return libc


class Arena:
    """Page-granular pieces of one reserved range; the caller serialises access."""

    def __init__(self, reserve_bytes: int) -> None:
        """Reserve that much address space, or, under an address-space limit (``ulimit -v``), the largest half of it."""
        size = _whole_pages(reserve_bytes)
        while (base := _reserve(size)) is None:
            size = _whole_pages(size // 2)
            if size < SMALLEST_RESERVE_BYTES:
                raise MemoryError(f"no {size} B of address space for device memory: raise the limit of `ulimit -v`")
        self.base = base
        self.size_bytes = size
        self._committed_end = base
        self._starts: list[int] = [base]
        self._spans: dict[int, int] = {base: size}

    def take(self, size_bytes: int) -> int | None:
        """The start of a zeroed piece with a page to spare behind it; None when no hole is large enough."""
        span = span_bytes(size_bytes)
        index = next((at for at, start in enumerate(self._starts) if self._spans[start] >= span), None)
        if index is None or not self._commit(self._starts[index] + span):
            return None
        start = self._starts.pop(index)
        hole = self._spans.pop(start)
        if hole > span:
            self._starts.insert(index, start + span)
            self._spans[start + span] = hole - span
        if size_bytes >= 2 * HUGE_PAGE_BYTES:
            _libc().madvise(start, span, _MADV_HUGEPAGE)
        return start

    def discard(self, start: int, size_bytes: int) -> None:
        """Return a piece's pages to the system: they read as zero again. Its addresses stay taken."""
        _libc().madvise(start, span_bytes(size_bytes), _MADV_DONTNEED)

    def give(self, start: int, size_bytes: int) -> None:
        """Let the addresses of a discarded piece be handed out again."""
        index = bisect.bisect_left(self._starts, start)
        span = span_bytes(size_bytes)
        if index < len(self._starts) and self._starts[index] == start + span:
            span += self._spans.pop(self._starts.pop(index))
        if index and self._starts[index - 1] + self._spans[self._starts[index - 1]] == start:
            self._spans[self._starts[index - 1]] += span
        else:
            self._starts.insert(index, start)
            self._spans[start] = span

    def close(self) -> None:
        """Unmap everything; no piece may be used any more."""
        _libc().munmap(self.base, self.size_bytes)

    def _commit(self, end: int) -> bool:
        if end <= self._committed_end:
            return True
        step = -(-(end - self._committed_end) // COMMIT_STEP_BYTES) * COMMIT_STEP_BYTES
        step = min(step, self.base + self.size_bytes - self._committed_end)
        if _libc().mprotect(self._committed_end, step, _PROT_READ_WRITE):
            return False
        self._committed_end += step
        return True


def host_rights(address: int, size_bytes: int) -> str:
    """What this process may do with every page of a range: "rw", "r", or "" where some of it is not mapped."""
    at, rights = address, "rw"
    with open("/proc/self/maps") as mappings:
        for line in mappings:
            span, granted = line.split()[:2]
            start, end = (int(number, 16) for number in span.split("-"))
            if start <= at < end:
                at, rights = end, "".join(right for right in rights if right in granted)
                if at >= address + size_bytes:
                    return rights if "r" in rights else ""
    return ""


def span_bytes(size_bytes: int) -> int:
    """Address space that a piece takes: whole pages and one spare page."""
    return _whole_pages(size_bytes) + PAGE


def _whole_pages(size_bytes: int) -> int:
    return -(-size_bytes // PAGE) * PAGE


def _reserve(size: int) -> int | None:
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE
    base = _libc().mmap(None, size, _PROT_NONE, flags, -1, 0)
    return None if base == _MAP_FAILED else base
