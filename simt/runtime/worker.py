"""One worker thread's share of a launch: its context block, and the memory that its warps use."""
from __future__ import annotations

import ctypes

import numpy as np

from simt.ir.shapes import WARP
from simt.jit.compile import Machine
from simt.jit.context import FIELDS, INDEX

NEVER = 1 << 62                 # a start that no address can pass
SECTOR_SLOTS = 1 << 19
POISON = 0x7FBADBAD             # fresh shared and local memory: a NaN as float32, 2142952365 as int32


class Worker:
    """Everything native code needs on one thread. Arrays are kept alive here; the context holds their addresses."""

    def __init__(self, machine: Machine, launch):
        warps = -(-machine.kernel.threads // WARP)
        self.machine = machine
        self.context = aligned(len(FIELDS), np.int64)
        self.states = aligned(max(machine.state_bytes * warps, 64), np.uint8)
        self.shared = aligned(max(launch.shared_bytes, 64) // 4 + 32, np.uint32)
        self.local = aligned(max(machine.layout.local_bytes * WARP * warps, 64) // 4, np.uint32)
        self.counters = aligned(max(machine.counters, 1), np.int64)
        self.checks = aligned(max(2 * len(machine.groups), 2), np.int64)
        self.shared[:] = POISON
        self.local[:] = POISON
        self.prepare_checks(launch.shared_bytes)
        self.fill(launch)

    def prepare_checks(self, shared_bytes: int) -> None:
        """Bounds of shared and local accesses are known; those of global ones are learnt at the first access."""
        sizes = {"shared": shared_bytes, "local": self.machine.layout.local_bytes}
        for group in self.machine.groups:
            room = sizes.get(group.space, -1) - group.extent
            if group.space in sizes and room >= 0:
                self.checks[2 * group.index] = -group.low
                self.checks[2 * group.index + 1] = room // group.size
            else:
                self.checks[2 * group.index] = NEVER

    def fill(self, launch) -> None:
        starts, ends, _ = launch.table
        values = {
            "stop": launch.stop.ctypes.data, "next_block": launch.next_block.ctypes.data, "block_count": launch.block_count,
            "block_list": launch.block_list.ctypes.data if launch.block_list is not None else 0, "chunk": launch.chunk,
            "nctaid_x": launch.grid[0], "nctaid_y": launch.grid[1], "nctaid_z": launch.grid[2],
            "shared_base": self.shared.ctypes.data, "shared_bytes": launch.shared_bytes,
            "dynamic_shared_bytes": launch.dynamic_shared_bytes, "local_base": self.local.ctypes.data,
            "local_bytes": self.machine.layout.local_bytes, "table_starts": starts.ctypes.data,
            "table_ends": ends.ctypes.data, "table_count": len(starts), "globals": launch.globals.ctypes.data,
            "states": self.states.ctypes.data, "params": launch.params.ctypes.data, "counters": self.counters.ctypes.data,
            "checks": self.checks.ctypes.data, "grid_id": launch.serial,
        }
        if self.machine.observers:
            self.sectors = np.zeros(2 * SECTOR_SLOTS, np.int64)
            values |= {"sector_set": self.sectors.ctypes.data, "sector_capacity": SECTOR_SLOTS}
        for name, value in values.items():
            self.context[INDEX[name]] = value

    def run(self) -> None:
        """Run blocks until none is left or the launch stops; native code, without the interpreter lock."""
        self.machine.run(self.context.ctypes.data)

    def field(self, name: str) -> int:
        return int(self.context[INDEX[name]])

    @property
    def failed(self) -> bool:
        return self.field("fault_code") != 0


def aligned(count: int, dtype) -> np.ndarray:
    """Zeros at a 64-byte boundary."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(count * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + count * size].view(dtype)


def address_of(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
