"""What native code asks of Python: printing. The text waits until the launch ends, as on a device."""
from __future__ import annotations

import ctypes
import sys

from simt.isa.calls import formatted, unpack

PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64)
_waiting: list[str] = []


def read(address: int, count: int | None) -> bytes:
    return ctypes.string_at(address) if count is None else ctypes.string_at(address, count)


@PRINT
def simt_print(text: int, arguments: int) -> int:
    """vprintf for one lane: returns the number of arguments. Called with addresses that the device code made."""
    template = read(text, None)
    values = unpack(template, read, arguments)
    _waiting.append(formatted(None, template, values))
    return len(values)


def address() -> int:
    return ctypes.cast(simt_print, ctypes.c_void_p).value


def flush() -> None:
    """Write what kernels have printed to standard output."""
    if _waiting:
        texts, _waiting[:] = list(_waiting), []
        sys.stdout.write("".join(texts))
        sys.stdout.flush()
