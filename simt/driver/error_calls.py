"""Driver functions that name errors."""
from __future__ import annotations

import ctypes
import functools

from simt.driver.callbacks import driver_call
from simt.driver.cells import Int, Pointer, put_size
from simt.driver.errors import INVALID_VALUE, DriverError


@driver_call(Int, Pointer)
def cuGetErrorName(code: int, text_out: int) -> None:
    put_size(text_out, ctypes.addressof(_text(_name(code))))


@driver_call(Int, Pointer)
def cuGetErrorString(code: int, text_out: int) -> None:
    put_size(text_out, ctypes.addressof(_text(_name(code).removeprefix("CUDA_").replace("_", " ").lower())))


def _name(code: int) -> str:
    from cuda.bindings.driver import CUresult

    try:
        return CUresult(code).name
    except ValueError:
        raise DriverError(INVALID_VALUE, f"there is no CUDA error {code}") from None


@functools.cache
def _text(text: str) -> ctypes.Array:
    """A C string that stays where it is."""
    return ctypes.create_string_buffer(text.encode())
