"""Theoretical occupancy: how many blocks of a launch one SM holds. The rules are those of cuda_occupancy.h."""
from __future__ import annotations

import dataclasses

from simt.model.device import WARP_SIZE, Device

_ORDER = ("registers", "shared_mem", "warps", "blocks")


@dataclasses.dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks of one SM.

    percent: resident warps of the warps that an SM can hold
    limiter: the tightest limit: "registers", "shared_mem", "warps" or "blocks"; the first of them in a tie
    limits:  blocks per SM that each limit alone allows; None where the launch uses nothing of it
    """

    blocks_per_sm: int
    warps_per_sm: int
    percent: float
    limiter: str
    limits: dict[str, int | None]


def occupancy(device: Device, threads_per_block: int, registers: int, shared_bytes: int) -> Occupancy:
    """Occupancy of a launch: ``registers`` per thread; ``shared_bytes`` per block, static and dynamic together.

    A launch that cannot start has 0 blocks per SM, and its limiter says why.
    """
    if threads_per_block < 1 or registers < 0 or shared_bytes < 0:
        raise ValueError(f"threads_per_block must be 1 or more, registers and shared_bytes 0 or more; "
                         f"got {threads_per_block}, {registers}, {shared_bytes}")
    warps = _divide_up(threads_per_block, WARP_SIZE)
    limits = {
        "registers": _register_limit(device, warps, registers),
        "shared_mem": _shared_limit(device, shared_bytes),
        "warps": device.warps_per_sm // warps if threads_per_block <= device.threads_per_block else 0,
        "blocks": device.blocks_per_sm,
    }
    limiter = min((name for name in _ORDER if limits[name] is not None), key=lambda name: limits[name])
    blocks = limits[limiter]
    return Occupancy(blocks, blocks * warps, 100 * blocks * warps / device.warps_per_sm, limiter, limits)


def registers_of_block(device: Device, threads_per_block: int, registers: int) -> int:
    """Registers that the launch check counts: whole units per warp, warps in whole rounds over the sub-partitions."""
    per_warp = _round_up(registers * WARP_SIZE, device.register_unit)
    return per_warp * _round_up(_divide_up(threads_per_block, WARP_SIZE), device.sub_partitions)


def most_registers(device: Device, threads_per_block: int) -> int:
    """The most registers per thread with which a block of that size can start; 0 if none."""
    return next((count for count in range(device.registers_per_thread, 0, -1)
                 if registers_of_block(device, threads_per_block, count) <= device.registers_per_sm), 0)


def _register_limit(device: Device, warps: int, registers: int) -> int | None:
    if registers == 0:
        return None
    per_warp = _round_up(registers * WARP_SIZE, device.register_unit)
    checked = registers_of_block(device, warps * WARP_SIZE, registers)
    if checked > device.registers_per_sm or registers > device.registers_per_thread:
        return 0
    warps_per_partition = device.registers_per_sm // device.sub_partitions // per_warp
    return warps_per_partition * device.sub_partitions // warps


def _shared_limit(device: Device, shared_bytes: int) -> int | None:
    if shared_bytes > device.shared_bytes_per_block_optin:
        return 0
    allocated = _round_up(shared_bytes + device.shared_bytes_reserved, device.shared_unit_bytes)
    return device.shared_bytes_per_sm // allocated if allocated else None


def _divide_up(value: int, unit: int) -> int:
    return -(-value // unit)


def _round_up(value: int, unit: int) -> int:
    return unit * _divide_up(value, unit)
