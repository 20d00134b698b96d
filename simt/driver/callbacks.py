"""The table of driver functions, and how C code calls them.

A driver function is a Python function under ``@driver_call(argument types)``, named as in cuda.h, that returns nothing
and fails by raising. C reaches it through a ctypes callback. After the interpreter's end a ctypes callback crashes, and
cuda.core frees handles even then; so each callback stands behind a few native instructions that first look at one
variable, ``answer`` (``native``): negative while the interpreter lives, else the number to return at once.
"""
from __future__ import annotations

import atexit
import ctypes
import functools
import os
from collections.abc import Callable

from simt.driver import errors, native

_callbacks: dict[str, ctypes._CFuncPtr] = {}
_arities: dict[str, int] = {}
_stubs: dict[str, ctypes._CFuncPtr] = {}
_addresses: dict[str, int] = {}


def driver_call(*argument_types: type) -> Callable[[Callable], Callable]:
    """Register a driver function; every argument is an integer or a pointer, at most 64 bits wide."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *argument_types)

    def register(function: Callable) -> Callable:
        name = function.__name__

        def call(*arguments: int) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # nothing may pass into C code, Ctrl-C included
                return errors.record(error, name)
            return errors.SUCCESS

        _callbacks[name] = prototype(call)
        _arities[name] = len(argument_types)
        return function

    return register


def address_of(name: str) -> int:
    """Native address of a driver function; for a name that is not implemented, of a stub that answers 801."""
    if name in _addresses:
        return _addresses[name]
    if name not in _stubs:
        _stubs[name] = ctypes.CFUNCTYPE(ctypes.c_int32)(functools.partial(_not_supported, name))
    return _address(_stubs[name])


def implemented() -> frozenset[str]:
    """Names of the driver functions that the emulated device has."""
    return frozenset(_callbacks)


def build() -> None:
    """Compile the native entry of every registered function and arrange for its end."""
    code = native.compile_entries({name: (_address(_callbacks[name]), _arities[name]) for name in _callbacks})
    _addresses.update(code.entries)
    answer = ctypes.c_int32.from_address(code.answer)
    atexit.register(setattr, answer, "value", errors.SUCCESS)
    os.register_at_fork(after_in_child=functools.partial(_close_in_child, answer))


class Use:
    """Whether this process has initialised the driver: a child of ``fork`` may use it only if its parent had not."""

    begun = False


def _close_in_child(answer: ctypes.c_int32) -> None:
    if Use.begun:
        answer.value = errors.NOT_INITIALIZED


def _not_supported(name: str) -> int:
    return errors.record(
        errors.DriverError(errors.NOT_SUPPORTED, f"the emulated device does not have the driver function {name}"), name
    )


def _address(callback: ctypes._CFuncPtr) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value
