"""The one way into the driver: ``cuGetProcAddress``, and how clients come to find it."""
from __future__ import annotations

import ctypes
import sys

# Imported for what they register.
from simt.driver import (  # noqa: F401  each registers its functions
    context_calls,
    copy_calls,
    device_calls,
    error_calls,
    event_calls,
    launch_calls,
    library_calls,
    linker_calls,
    memory_calls,
    module_calls,
    occupancy_calls,
    stream_calls,
)
from simt.driver.callbacks import address_of, build, driver_call
from simt.driver.cells import Int, Pointer, Size, get_text, put_int, put_size

_BINDINGS = "cuda.bindings._internal.driver"
# Never cuInit: NVRTC looks for it in the loaded libcuda and calls it in a way that crashes.
_EXPORTED = ("cuGetProcAddress", "cuGetProcAddress_v2", "cuDriverGetVersion")


@driver_call(Pointer, Pointer, Int, Size, Pointer)
def cuGetProcAddress_v2(name: int, function_out: int, _version: int, _flags: int, status_out: int) -> None:
    put_size(function_out, address_of(get_text(name)))
    if status_out:
        put_int(status_out, 0)


@driver_call(Pointer, Pointer, Int, Size)
def cuGetProcAddress(name: int, function_out: int, _version: int, _flags: int) -> None:
    put_size(function_out, address_of(get_text(name)))


def exports() -> dict[str, int]:
    """Compile the entries of all driver functions; the few that a library exports, by name."""
    build()
    return {name: address_of(name) for name in _EXPORTED}


def make_sure_it_is_found(soname: str, library: ctypes.CDLL) -> None:
    """Where another libcuda was loaded first, ``dlopen`` by name finds that: then cuda.bindings is told directly."""
    if ctypes.CDLL(soname)._handle == library._handle:
        return
    import cuda.bindings._internal.driver as bindings

    load = bindings.load_nvidia_dynamic_lib

    def load_nvidia_dynamic_lib(name: str) -> object:
        return _Loaded(library._handle) if name == "cuda" else load(name)

    bindings.load_nvidia_dynamic_lib = load_nvidia_dynamic_lib


class _Loaded:
    """What cuda.bindings reads of cuda.pathfinder's answer."""

    def __init__(self, handle: int) -> None:
        self._handle_uint = handle


def refuse_if_taken() -> None:
    """Raise RuntimeError when cuda.bindings bound itself to a real driver before: that cannot be taken back."""
    bindings = sys.modules.get(_BINDINGS)
    if bindings and bindings._inspect_function_pointer("__cuInit") != address_of("cuInit"):
        raise RuntimeError("this process uses a real CUDA driver: call simt.enable('force') before any CUDA call")
