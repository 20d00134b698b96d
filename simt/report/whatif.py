"""What-if tables of the occupancy: other block sizes, registers, shared memory, all else unchanged."""
from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable

from simt.model import Device, Occupancy, occupancy
from simt.report.subject import Subject

BLOCK_SIZES = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
ROWS = 9                    # ranges shown, those nearest the launch


@dataclasses.dataclass(frozen=True, slots=True)
class WhatIf:
    """With ``first`` to ``last`` of what is varied the occupancy is ``found``; ``now``: the launch itself lies there."""

    first: int
    last: int
    found: Occupancy
    now: bool


def block_sizes(subject: Subject) -> list[WhatIf]:
    """Threads per block; registers per thread and shared memory per block stay."""
    profile, device = subject.profile, subject.device
    now = profile.threads_per_block
    sizes = sorted({size for size in BLOCK_SIZES if size <= device.threads_per_block} | {now})
    return [WhatIf(size, size, occupancy(device, size, profile.registers, profile.shared_bytes), size == now) for size in sizes]


def registers(subject: Subject) -> list[WhatIf]:
    """Registers per thread, in ranges of equal occupancy."""
    profile = subject.profile
    return ranges(_over_registers(subject.device, profile.threads_per_block, profile.shared_bytes), profile.registers)


def shared_memory(subject: Subject) -> list[WhatIf]:
    """Bytes of shared memory per block, static and dynamic together, in ranges of equal occupancy."""
    profile, unit = subject.profile, subject.device.shared_unit_bytes
    points = _over_shared(subject.device, profile.threads_per_block, profile.registers)
    return ranges(points, -(-profile.shared_bytes // unit) * unit)


@functools.lru_cache(maxsize=64)
def _over_registers(device: Device, threads: int, shared_bytes: int) -> list[tuple[int, Occupancy]]:
    return [(count, occupancy(device, threads, count, shared_bytes)) for count in range(1, device.registers_per_thread + 1)]


@functools.lru_cache(maxsize=64)
def _over_shared(device: Device, threads: int, registers: int) -> list[tuple[int, Occupancy]]:
    unit, most = device.shared_unit_bytes, device.shared_bytes_per_block_optin
    sizes = [*range(0, most + 1, unit), *([most] if most % unit else [])]
    return [(size, occupancy(device, threads, registers, size)) for size in sizes]


def ranges(points: Iterable[tuple[int, Occupancy]], now: int) -> list[WhatIf]:
    """Neighbouring points of equal occupancy joined, without those that cannot start; at most ROWS around ``now``."""
    made = []
    for blocks, group in itertools.groupby(points, key=lambda point: point[1].blocks_per_sm):
        joined = list(group)
        first, last = joined[0][0], joined[-1][0]
        if blocks:
            made.append(WhatIf(first, last, joined[-1][1], first <= now <= last))
    place = next((index for index, row in enumerate(made) if row.now), 0)
    start = max(min(place - ROWS // 2, len(made) - ROWS), 0)
    return made[start:start + ROWS]
