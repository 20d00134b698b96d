"""Driver functions that describe the device: one, number 0, with the numbers of the modelled part."""
from __future__ import annotations

import ctypes
import uuid

from simt.driver.callbacks import driver_call
from simt.driver.cells import Int, Pointer, put_int, put_size, put_text
from simt.driver.context_calls import check_device
from simt.driver.errors import INVALID_VALUE, NOT_SUPPORTED, DriverError
from simt.driver.session import current

PCI_BUS_ID = "0000:00:00.0"


@driver_call(Pointer)
def cuDeviceGetCount(count_out: int) -> None:
    put_int(count_out, 1)


@driver_call(Pointer, Int)
def cuDeviceGet(device_out: int, ordinal: int) -> None:
    check_device(ordinal)
    put_int(device_out, ordinal)


@driver_call(Pointer, Int, Int)
def cuDeviceGetName(name_out: int, capacity: int, device: int) -> None:
    check_device(device)
    put_text(name_out, capacity, f"{current().device.title} (emulated)")


@driver_call(Pointer, Int)
def cuDeviceGetUuid(uuid_out: int, device: int) -> None:
    check_device(device)
    ctypes.memmove(uuid_out, uuid.uuid5(uuid.NAMESPACE_DNS, f"simt {current().device.name}").bytes, 16)


@driver_call(Pointer, Int)
def cuDeviceTotalMem(size_out: int, device: int) -> None:
    check_device(device)
    put_size(size_out, current().memory.total_bytes)


@driver_call(Pointer, Int, Int)
def cuDeviceGetAttribute(value_out: int, attribute: int, device: int) -> None:
    check_device(device)
    put_int(value_out, _attribute(attribute))


@driver_call(Pointer, Pointer, Int)
def cuDeviceComputeCapability(major_out: int, minor_out: int, device: int) -> None:
    check_device(device)
    for address, number in zip((major_out, minor_out), current().device.compute_capability, strict=True):
        put_int(address, number)


@driver_call(Pointer, Int, Int)
def cuDeviceGetPCIBusId(text_out: int, capacity: int, device: int) -> None:
    check_device(device)
    put_text(text_out, capacity, PCI_BUS_ID)


@driver_call(Pointer, Int, Int)
def cuDeviceCanAccessPeer(answer_out: int, _device: int, _peer: int) -> None:
    put_int(answer_out, 0)


@driver_call(Pointer, Int)
def cuIpcGetMemHandle(_handle_out: int, _address: int) -> None:
    raise DriverError(NOT_SUPPORTED, "memory of the emulated device belongs to one process and cannot be shared")


def _attribute(number: int) -> int:
    """An attribute's value; what the emulated device lacks is 0, as on parts that lack it."""
    from cuda.bindings.driver import CUdevice_attribute

    try:
        name = CUdevice_attribute(number).name.removeprefix("CU_DEVICE_ATTRIBUTE_")
    except ValueError:
        raise DriverError(INVALID_VALUE, f"there is no device attribute {number}") from None
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    value = _OF_DEVICE.get(name)
    return int(value(current().device)) if value else 0


# The same on every part that is modelled (CUDA programming guide, "Compute Capabilities"), or true of an emulated one.
_CONSTANTS = {
    "ASYNC_ENGINE_COUNT": 2,
    "CAN_MAP_HOST_MEMORY": 1,
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 1,
    "COMPUTE_PREEMPTION_SUPPORTED": 1,
    "CONCURRENT_KERNELS": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "GPU_OVERLAP": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_PITCH": 2**31 - 1,
    "MEMORY_POOLS_SUPPORTED": 1,
    "STREAM_PRIORITIES_SUPPORTED": 1,
    "TEXTURE_ALIGNMENT": 512,
    "TOTAL_CONSTANT_MEMORY": 64 << 10,
    "UNIFIED_ADDRESSING": 1,
    "UNIFIED_FUNCTION_POINTERS": 1,
    "WARP_SIZE": 32,
}

_OF_DEVICE = {
    "CLOCK_RATE": lambda device: device.clock_ghz * 1e6,  # kHz
    "COMPUTE_CAPABILITY_MAJOR": lambda device: device.compute_capability[0],
    "COMPUTE_CAPABILITY_MINOR": lambda device: device.compute_capability[1],
    "GLOBAL_MEMORY_BUS_WIDTH": lambda device: device.memory_bus_bits,
    "L2_CACHE_SIZE": lambda device: device.l2_bytes,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": lambda device: device.blocks_per_sm,
    "MAX_REGISTERS_PER_BLOCK": lambda device: device.registers_per_sm,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": lambda device: device.registers_per_sm,
    "MAX_SHARED_MEMORY_PER_BLOCK": lambda device: device.shared_bytes_per_block,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": lambda device: device.shared_bytes_per_block_optin,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": lambda device: device.shared_bytes_per_sm,
    "MAX_THREADS_PER_BLOCK": lambda device: device.threads_per_block,
    "MAX_THREADS_PER_MULTIPROCESSOR": lambda device: device.threads_per_sm,
    "MULTIPROCESSOR_COUNT": lambda device: device.sm_count,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": lambda device: device.shared_bytes_reserved,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": lambda device: device.fp32_lanes / device.fp64_lanes,
}
