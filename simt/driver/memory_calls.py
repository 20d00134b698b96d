"""Driver functions that make, end and describe memory."""
from __future__ import annotations

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Int, Pointer, Size, UInt, get_int, get_size, put_int, put_size
from simt.driver.context_calls import PRIMARY_CONTEXT, check_device
from simt.driver.errors import INVALID_VALUE, NOT_FOUND, DriverError
from simt.driver.handles import FIRST, STEP
from simt.driver.session import current
from simt.runtime.arena import host_rights
from simt.runtime.memory import REGISTERED, Allocation

DEFAULT_POOL = FIRST - 2 * STEP
HOST_KINDS = frozenset({"pinned", REGISTERED})
MEMORY_TYPE_HOST, MEMORY_TYPE_DEVICE = 1, 2  # CU_MEMORYTYPE_*
REGISTER_READ_ONLY = 0x08  # CU_MEMHOSTREGISTER_*
NO_DEVICE = -2  # CU_DEVICE_INVALID


@driver_call(Pointer, Size)
def cuMemAlloc(address_out: int, size: int) -> None:
    put_size(address_out, current().memory.alloc(size, "device"))


@driver_call(Pointer, Size, UInt)
def cuMemAllocManaged(address_out: int, size: int, _flags: int) -> None:
    put_size(address_out, current().memory.alloc(size, "managed"))


@driver_call(Pointer, Size, UInt)
def cuMemHostAlloc(address_out: int, size: int, _flags: int) -> None:
    put_size(address_out, current().memory.alloc(size, "pinned"))


@driver_call(Pointer, Size)
def cuMemAllocHost(address_out: int, size: int) -> None:
    put_size(address_out, current().memory.alloc(size, "pinned"))


@driver_call(Handle)
def cuMemFree(address: int) -> None:
    if address:
        current().memory.free(address)


@driver_call(Handle)
def cuMemFreeHost(address: int) -> None:
    current().memory.free(address)


@driver_call(Pointer, Size, UInt)
def cuMemHostRegister(address: int, size: int, flags: int) -> None:
    """Kernels only read what the host itself cannot write, or what is registered with CU_MEMHOSTREGISTER_READ_ONLY."""
    rights = host_rights(address, size)
    if not rights:
        raise DriverError(INVALID_VALUE, f"this process has no memory of {size} B at {address:#x} to register")
    current().memory.register(address, size, read_only=bool(flags & REGISTER_READ_ONLY) or rights == "r")


@driver_call(Pointer)
def cuMemHostUnregister(address: int) -> None:
    current().memory.unregister(address)


@driver_call(Pointer, Pointer, UInt)
def cuMemHostGetDevicePointer(address_out: int, address: int, _flags: int) -> None:
    put_size(address_out, address)


@driver_call(Pointer, Pointer)
def cuMemHostGetFlags(flags_out: int, _address: int) -> None:
    put_int(flags_out, 0)


@driver_call(Pointer, Pointer)
def cuMemGetInfo(free_out: int, total_out: int) -> None:
    memory = current().memory
    put_size(free_out, memory.total_bytes - memory.used_bytes)
    put_size(total_out, memory.total_bytes)


@driver_call(Pointer, Pointer, Handle)
def cuMemGetAddressRange(base_out: int, size_out: int, address: int) -> None:
    allocation = current().memory.find(address)
    if allocation is None:
        raise DriverError(NOT_FOUND, f"no allocation holds {address:#x}")
    if base_out:
        put_size(base_out, allocation.base)
    if size_out:
        put_size(size_out, allocation.size)


@driver_call(Handle, Size, Handle, UInt, Handle)
def cuMemPrefetchAsync(*_where: int) -> None:
    """Managed memory is everywhere at once here: nothing to move."""


@driver_call(Handle, Size, Int, Handle)
def cuMemAdvise(*_where: int) -> None:
    """See cuMemPrefetchAsync."""


@driver_call(Pointer, Int, Handle)
def cuPointerGetAttribute(value_out: int, attribute: int, address: int) -> None:
    allocation = current().memory.find(address)
    if allocation is None:
        raise DriverError(INVALID_VALUE, f"{address:#x} is in no allocation of the emulated device")
    if attribute not in _ATTRIBUTES:
        raise DriverError(INVALID_VALUE, f"the emulated device does not know pointer attribute {attribute}")
    put, value = _ATTRIBUTES[attribute]
    put(value_out, value(allocation, address))


@driver_call(UInt, Pointer, Pointer, Handle)
def cuPointerGetAttributes(count: int, attributes: int, values_out: int, address: int) -> None:
    """As the real function, an unknown pointer is no error: every attribute gets its value for no memory."""
    allocation = current().memory.find(address)
    for index in range(count):
        attribute, value_out = get_int(attributes + 4 * index), get_size(values_out + 8 * index)
        put, value = _ATTRIBUTES.get(attribute, (put_int, None))
        if allocation and value:
            put(value_out, value(allocation, address))
        else:
            put(value_out, NO_DEVICE if attribute == _DEVICE_ORDINAL else 0)


@driver_call(Pointer, Int)
def cuDeviceGetMemPool(pool_out: int, device: int) -> None:
    check_device(device)
    put_size(pool_out, DEFAULT_POOL)


@driver_call(Pointer, Int)
def cuDeviceGetDefaultMemPool(pool_out: int, device: int) -> None:
    check_device(device)
    put_size(pool_out, DEFAULT_POOL)


@driver_call(Int, Handle)
def cuDeviceSetMemPool(device: int, _pool: int) -> None:
    check_device(device)


@driver_call(Pointer, Pointer)
def cuMemPoolCreate(pool_out: int, _properties: int) -> None:
    """Pools do not differ here: each one is the device's memory."""
    put_size(pool_out, DEFAULT_POOL)


@driver_call(Handle)
def cuMemPoolDestroy(_pool: int) -> None:
    """See cuMemPoolCreate."""


@driver_call(Handle, Size)
def cuMemPoolTrimTo(_pool: int, _size: int) -> None:
    """See cuMemPoolCreate."""


@driver_call(Handle, Int, Pointer)
def cuMemPoolGetAttribute(_pool: int, _attribute: int, value_out: int) -> None:
    put_size(value_out, 0)


@driver_call(Handle, Int, Pointer)
def cuMemPoolSetAttribute(_pool: int, _attribute: int, _value: int) -> None:
    """See cuMemPoolCreate."""


@driver_call(Handle, Pointer, Size)
def cuMemPoolSetAccess(_pool: int, _map: int, _count: int) -> None:
    """See cuMemPoolCreate."""


@driver_call(Pointer, Size, Handle)
def cuMemAllocAsync(address_out: int, size: int, _stream: int) -> None:
    put_size(address_out, current().memory.alloc(size, "device"))


@driver_call(Pointer, Size, Handle, Handle)
def cuMemAllocFromPoolAsync(address_out: int, size: int, _pool: int, _stream: int) -> None:
    put_size(address_out, current().memory.alloc(size, "device"))


@driver_call(Handle, Handle)
def cuMemFreeAsync(address: int, _stream: int) -> None:
    if address:
        current().memory.free(address)


def _memory_type(allocation: Allocation, _address: int) -> int:
    return MEMORY_TYPE_HOST if allocation.kind in HOST_KINDS else MEMORY_TYPE_DEVICE


def _host_pointer(allocation: Allocation, address: int) -> int:
    return 0 if allocation.kind == "device" else address


_DEVICE_ORDINAL = 9
# CUpointer_attribute -> how its value is stored, and what it is.
_ATTRIBUTES = {
    1: (put_size, lambda allocation, address: PRIMARY_CONTEXT),
    2: (put_int, _memory_type),
    3: (put_size, lambda allocation, address: address),
    4: (put_size, _host_pointer),
    7: (put_size, lambda allocation, address: allocation.serial),
    8: (put_int, lambda allocation, address: int(allocation.kind == "managed")),
    _DEVICE_ORDINAL: (put_int, lambda allocation, address: 0),
    11: (put_size, lambda allocation, address: allocation.base),
    12: (put_size, lambda allocation, address: allocation.size),
    13: (put_int, lambda allocation, address: 1),
}
