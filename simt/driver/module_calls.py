"""The older driver functions for modules, on top of libraries: a module and its library are one handle."""
from __future__ import annotations

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Pointer, UInt, put_size
from simt.driver.image import read
from simt.driver.libraries import Library
from simt.driver.library_calls import cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryUnload


@driver_call(Pointer, Pointer)
def cuModuleLoadData(module_out: int, code: int) -> None:
    put_size(module_out, Library(read(code)).handle)


@driver_call(Pointer, Pointer, UInt, Pointer, Pointer)
def cuModuleLoadDataEx(module_out: int, code: int, *_options: int) -> None:
    cuModuleLoadData(module_out, code)


@driver_call(Handle)
def cuModuleUnload(module: int) -> None:
    cuLibraryUnload(module)


@driver_call(Pointer, Handle, Pointer)
def cuModuleGetFunction(function_out: int, module: int, name: int) -> None:
    cuLibraryGetKernel(function_out, module, name)


@driver_call(Pointer, Pointer, Handle, Pointer)
def cuModuleGetGlobal(address_out: int, size_out: int, module: int, name: int) -> None:
    cuLibraryGetGlobal(address_out, size_out, module, name)
