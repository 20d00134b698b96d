"""Reading and writing the caller's variables behind the pointers of a C call."""
from __future__ import annotations

import ctypes

# Types of driver parameters. Pointers and handles are plain integers; a null pointer is 0.
Pointer = ctypes.c_uint64
Handle = ctypes.c_uint64
Size = ctypes.c_uint64
Int = ctypes.c_int32
UInt = ctypes.c_uint32
Short = ctypes.c_uint16
Byte = ctypes.c_uint8


def put_int(address: int, value: int) -> None:
    ctypes.c_int32.from_address(address).value = value


def put_size(address: int, value: int) -> None:
    """Store 8 bytes: a size, a handle or a pointer."""
    ctypes.c_uint64.from_address(address).value = value


def put_float(address: int, value: float) -> None:
    ctypes.c_float.from_address(address).value = value


def put_text(address: int, capacity: int, text: str) -> None:
    """Store a C string, cut to ``capacity`` bytes with its closing zero."""
    encoded = text.encode()[: max(capacity - 1, 0)] + b"\0"
    ctypes.memmove(address, encoded, min(len(encoded), capacity))


def get_int(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def get_size(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def get_text(address: int) -> str:
    return ctypes.string_at(address).decode()
