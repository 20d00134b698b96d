"""Driver functions for modules, kernels and their attributes. A kernel and its function are one handle."""
from __future__ import annotations

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Int, Pointer, UInt, get_text, put_int, put_size
from simt.driver.errors import INVALID_VALUE, DriverError
from simt.driver.image import read
from simt.driver.libraries import (
    CARVEOUT,
    KERNELS,
    LIBRARIES,
    MAX_DYNAMIC_SHARED,
    Kernel,
    Library,
    global_variable,
)
from simt.driver.session import current


@driver_call(Pointer, Pointer, Pointer, Pointer, UInt, Pointer, Pointer, UInt)
def cuLibraryLoadData(library_out: int, code: int, *_options: int) -> None:
    put_size(library_out, Library(read(code)).handle)


@driver_call(Handle)
def cuLibraryUnload(library: int) -> None:
    LIBRARIES.get(library).unload()


@driver_call(Pointer, Handle, Pointer)
def cuLibraryGetKernel(kernel_out: int, library: int, name: int) -> None:
    put_size(kernel_out, LIBRARIES.get(library).kernel(get_text(name)).handle)


@driver_call(Pointer, Handle)
def cuLibraryGetKernelCount(count_out: int, library: int) -> None:
    put_int(count_out, len(LIBRARIES.get(library).program.kernels))


@driver_call(Pointer, UInt, Handle)
def cuLibraryEnumerateKernels(kernels_out: int, capacity: int, library: int) -> None:
    for index, kernel in enumerate(LIBRARIES.get(library).kernels()[:capacity]):
        put_size(kernels_out + 8 * index, kernel.handle)


@driver_call(Pointer, Pointer, Handle, Pointer)
def cuLibraryGetGlobal(address_out: int, size_out: int, library: int, name: int) -> None:
    variable = global_variable(LIBRARIES.get(library), get_text(name))
    if address_out:
        put_size(address_out, variable.address)
    if size_out:
        put_size(size_out, variable.size)


@driver_call(Pointer, Handle)
def cuLibraryGetModule(module_out: int, library: int) -> None:
    LIBRARIES.get(library)
    put_size(module_out, library)


@driver_call(Pointer, Handle)
def cuKernelGetFunction(function_out: int, kernel: int) -> None:
    KERNELS.get(kernel)
    put_size(function_out, kernel)


@driver_call(Pointer, Handle)
def cuKernelGetLibrary(library_out: int, kernel: int) -> None:
    put_size(library_out, KERNELS.get(kernel).library.handle)


@driver_call(Pointer, Int, Handle, Int)
def cuKernelGetAttribute(value_out: int, attribute: int, kernel: int, _device: int) -> None:
    put_int(value_out, _attribute(KERNELS.get(kernel), attribute))


@driver_call(Pointer, Int, Handle)
def cuFuncGetAttribute(value_out: int, attribute: int, kernel: int) -> None:
    put_int(value_out, _attribute(KERNELS.get(kernel), attribute))


@driver_call(Int, Int, Handle, Int)
def cuKernelSetAttribute(attribute: int, value: int, kernel: int, _device: int) -> None:
    _set_attribute(KERNELS.get(kernel), attribute, value)


@driver_call(Handle, Int, Int)
def cuFuncSetAttribute(kernel: int, attribute: int, value: int) -> None:
    _set_attribute(KERNELS.get(kernel), attribute, value)


@driver_call(Handle, Int, Int)
def cuKernelSetCacheConfig(kernel: int, _preference: int, _device: int) -> None:
    KERNELS.get(kernel)


@driver_call(Handle, Int)
def cuFuncSetCacheConfig(kernel: int, _preference: int) -> None:
    KERNELS.get(kernel)


@driver_call(Handle, UInt, Pointer, Pointer)
def cuKernelGetParamInfo(kernel: int, index: int, offset_out: int, size_out: int) -> None:
    params = KERNELS.get(kernel).spec.params
    if index >= len(params):
        raise DriverError(INVALID_VALUE)  # how callers find the end of the list
    put_size(offset_out, params[index].offset)
    if size_out:
        put_size(size_out, params[index].size)


def _attribute(kernel: Kernel, attribute: int) -> int:
    try:
        value = _ATTRIBUTES[attribute]
    except KeyError:
        raise DriverError(INVALID_VALUE, f"the emulated device does not know function attribute {attribute}") from None
    return value(kernel)


def _set_attribute(kernel: Kernel, attribute: int, value: int) -> None:
    if attribute == MAX_DYNAMIC_SHARED:
        limit = current().device.shared_bytes_per_block_optin - kernel.facts.static_shared_bytes
        if not 0 <= value <= limit:
            raise DriverError(INVALID_VALUE, f"{value} B of dynamic shared memory: this kernel may have 0 to {limit} B")
    kernel.settings[attribute] = value
    kernel.accepted.clear()


def _version(kernel: Kernel) -> int:
    major, minor = kernel.library.cc
    return 10 * major + minor


# CUfunction_attribute -> value; the missing ones are cluster properties.
_ATTRIBUTES = {
    0: lambda kernel: kernel.max_threads_per_block,
    1: lambda kernel: kernel.facts.static_shared_bytes,
    2: lambda kernel: kernel.facts.const_bytes,
    3: lambda kernel: kernel.facts.local_bytes,
    4: lambda kernel: kernel.facts.registers,
    5: _version,
    6: _version,
    7: lambda kernel: 0,  # CACHE_MODE_CA: not compiled with -Xptxas --dlcm=ca
    MAX_DYNAMIC_SHARED: lambda kernel: kernel.dynamic_shared_limit,
    CARVEOUT: lambda kernel: kernel.settings.get(CARVEOUT, -1),
    **dict.fromkeys(range(10, 16), lambda kernel: 0),
}
