"""What native code asks of Python: printing, and device memory. Text waits until the launch ends, as on a device."""
from __future__ import annotations

import ctypes
import sys
from typing import Protocol

from simt.isa.calls import formatted, unpack


class Heap(Protocol):
    """What malloc and free of device code work on."""

    def allocate(self, size: int) -> int: ...
    def release(self, address: int) -> bool: ...


PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64)
MALLOC = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)
FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
_waiting: list[str] = []
_heaps: list[Heap] = []


def read(address: int, count: int | None) -> bytes:
    return ctypes.string_at(address) if count is None else ctypes.string_at(address, count)


@PRINT
def simt_print(text: int, arguments: int) -> int:
    """vprintf for one lane: returns the number of arguments. Called with addresses that the device code made."""
    template = read(text, None)
    values = unpack(template, read, arguments)
    _waiting.append(formatted(None, template, values))
    return len(values)


@MALLOC
def simt_malloc(size: int) -> int:
    """The address of so many bytes of the heap in use, or 0."""
    return _heaps[-1].allocate(size)


@FREE
def simt_free(address: int) -> int:
    """1, or 0 for an address that ``simt_malloc`` did not give. A null pointer is free already."""
    return int(address == 0 or _heaps[-1].release(address))


def use_heap(heap: Heap) -> None:
    """The heap that device code allocates from."""
    _heaps[:] = [heap]


def addresses() -> dict[str, int]:
    """Native addresses by name."""
    functions = {"simt_print": simt_print, "simt_malloc": simt_malloc, "simt_free": simt_free}
    return {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in functions.items()}


def flush() -> None:
    """Write what kernels have printed to standard output."""
    if _waiting:
        texts, _waiting[:] = list(_waiting), []
        sys.stdout.write("".join(texts))
        sys.stdout.flush()
