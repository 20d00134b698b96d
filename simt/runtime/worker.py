"""One worker's share of a launch: its context block, and the memory that its warps use.

A worker belongs to a compiled kernel and a size of shared memory, and is used again by later launches of it.
"""
from __future__ import annotations

import threading

import numpy as np

from simt.ir.shapes import WARP
from simt.ir.variables import rounded_up
from simt.jit.compile import Machine
from simt.jit.context import FIELDS, INDEX

NEVER = 0x4D5E6F7A8B9CADB1      # a start that no address passes: far from memory, odd, and no number in a float's clothes
SECTOR_SLOTS = 1 << 19
LINE_BYTES = 128
POISON = 0x7FBADBAD             # fresh shared and local memory: a NaN as float32, 2142952365 as int32
CLEARED = [INDEX[name] for name in FIELDS if name.startswith(("fault_", "arrived_", "result_"))
           or name in ("spin_site", "sectors_crowded", "phase")]


class Worker:
    """Everything native code needs on one thread. Arrays are kept alive here; the context holds their addresses.

    blocks: how many blocks the worker holds at once: 1, or the whole grid of a cooperative launch
    """

    def __init__(self, machine: Machine, shared_bytes: int, blocks: int = 1):
        self.machine, self.shared_bytes, self.blocks = machine, shared_bytes, blocks
        warps = -(-machine.threads // WARP)
        self.context = aligned(len(FIELDS), np.int64)
        self.context_address = self.context.ctypes.data
        places = machine.layout
        shared_align, local_align = (max(align, LINE_BYTES) for align in (places.shared_align, places.local_align))
        self.shared_stride = rounded_up(max(shared_bytes, 1), shared_align)
        local_stride = rounded_up(max(machine.layout.local_bytes * WARP * warps, 1), local_align)
        state_stride = max(machine.needs.state_bytes * warps, 64)
        self.states = aligned(state_stride * blocks, np.uint8)
        self.status = aligned(blocks, np.int32)
        self.shared = aligned((self.shared_stride * blocks + LINE_BYTES) // 4, np.uint32, shared_align)
        self.local = aligned((local_stride * blocks + LINE_BYTES) // 4, np.uint32, local_align)
        self.counters = aligned(max(machine.needs.counters, 1), np.int64)
        self.checks = aligned(max(2 * len(machine.needs.bounds), 2), np.int64)
        self.sectors = np.zeros(2 * SECTOR_SLOTS if machine.observers else 2, np.int64)
        self.table_version: int | None = None
        self.prepare_fixed_checks()
        self.set(
            shared_base=self.shared.ctypes.data, shared_arena=self.shared.ctypes.data, shared_stride=self.shared_stride,
            shared_bytes=shared_bytes, local_base=self.local.ctypes.data, local_arena=self.local.ctypes.data,
            local_stride=local_stride, local_bytes=machine.layout.local_bytes, states=self.states.ctypes.data,
            state_stride=state_stride, status=self.status.ctypes.data, counters=self.counters.ctypes.data,
            checks=self.checks.ctypes.data, sector_set=self.sectors.ctypes.data, sector_capacity=SECTOR_SLOTS,
            watch_stride=1,
        )

    def prepare_fixed_checks(self) -> None:
        """Bounds of shared and local accesses are known; those of global ones are learnt at the first access."""
        sizes = {"shared": self.shared_bytes, "local": self.machine.layout.local_bytes}
        self.global_groups = [index for index, group in enumerate(self.machine.needs.bounds) if group.space not in sizes]
        for index, group in enumerate(self.machine.needs.bounds):
            room = sizes.get(group.space, -1) - group.extent
            self.checks[2 * index] = -group.low if room >= 0 else NEVER
            self.checks[2 * index + 1] = max(room, 0) // group.size

    def set(self, **fields: int) -> None:
        for name, value in fields.items():
            self.context[INDEX[name]] = value

    def prepare(self, launch) -> None:
        """Make ready for a launch. What the last one learnt of allocations holds until they change."""
        starts, ends, version = launch.table
        if version != self.table_version:
            self.checks[[2 * index for index in self.global_groups]] = NEVER
            self.table_version = version
            self.set(table_starts=starts.ctypes.data, table_ends=ends.ctypes.data, table_count=len(starts))
            self.table = (starts, ends)
        self.context[CLEARED] = 0
        self.status[:] = 0                              # no block of a cooperative grid has begun
        self.local[:] = POISON
        if self.machine.observers:
            self.counters[:] = 0
            self.touched = np.zeros((len(starts) + 1, 2), np.uint8)
            self.set(touched=self.touched.ctypes.data, sample_block=launch.sample_block)
        self.launch = launch
        self.set(
            stop=launch.stop.ctypes.data, next_block=launch.next_block.ctypes.data, block_count=launch.block_count,
            block_list=0 if launch.block_list is None else launch.block_list.ctypes.data, chunk=launch.chunk,
            warp_order=launch.warp_order.ctypes.data, nctaid_x=launch.grid[0], nctaid_y=launch.grid[1],
            nctaid_z=launch.grid[2], dynamic_shared_bytes=launch.dynamic_shared_bytes, globals=launch.globals.ctypes.data,
            params=launch.params.ctypes.data, grid_id=launch.serial,
        )

    def run(self) -> None:
        """Run blocks until none is left or the launch stops; native code, without the interpreter lock."""
        run = self.machine.run_grid if self.launch.cooperative else self.machine.run
        run(self.context_address)

    def field(self, name: str) -> int:
        return int(self.context[INDEX[name]])

    @property
    def failed(self) -> bool:
        return self.field("fault_code") != 0


class Workers:
    """Idle workers by compiled kernel, for later launches."""

    KEEP = 16

    def __init__(self):
        self.idle: dict[tuple[Machine, int, int], list[Worker]] = {}
        self.lock = threading.Lock()

    def take(self, machine: Machine, shared_bytes: int, blocks: int) -> Worker:
        with self.lock:
            waiting = self.idle.get((machine, shared_bytes, blocks))
            if waiting:
                return waiting.pop()
        return Worker(machine, shared_bytes, blocks)

    def give(self, workers: list[Worker]) -> None:
        with self.lock:
            for worker in workers:
                key = (worker.machine, worker.shared_bytes, worker.blocks)
                self.idle.setdefault(key, []).append(worker)
            while len(self.idle) > self.KEEP:
                self.idle.pop(next(iter(self.idle)))


def aligned(count: int, dtype, align: int = 64) -> np.ndarray:
    """Zeros at an address that ``align`` divides."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(count * size + align, np.uint8)
    start = -raw.ctypes.data % align
    return raw[start:start + count * size].view(dtype)
