"""One launch on its way: blocks over worker threads, stopped by a fault or by Ctrl-C."""
from __future__ import annotations

import dataclasses
import math
import os
import queue
from typing import TYPE_CHECKING

import numpy as np

from simt.ir.shapes import WARP
from simt.jit import hostcalls
from simt.runtime import schedule
from simt.runtime.diagnose import explain, explain_timeout
from simt.runtime.faults import Fault, WrongSetting
from simt.runtime.names import kernel_name
from simt.runtime.pool import POOL
from simt.runtime.watch import TIMEOUT, Watch
from simt.runtime.worker import Worker, aligned

if TYPE_CHECKING:
    from simt.jit.compile import Machine
    from simt.runtime.launcher import Launcher
    from simt.runtime.program import Program

CHUNK_LIMIT = 64            # blocks that a worker takes at once, at most
POLL_S = 0.05


@dataclasses.dataclass(slots=True, eq=False)
class Launch:
    """What the workers of one pass over blocks share."""

    grid: tuple[int, int, int]
    dynamic_shared_bytes: int
    params: np.ndarray
    table: tuple
    globals: np.ndarray
    serial: int
    cooperative: bool
    block_list: np.ndarray | None
    block_count: int
    warp_order: np.ndarray
    chunk: int
    sample_block: int = -1
    stop: np.ndarray = dataclasses.field(default_factory=lambda: aligned(16, np.int32))
    next_block: np.ndarray = dataclasses.field(default_factory=lambda: aligned(8, np.int64))


@dataclasses.dataclass(slots=True, eq=False)
class Pass:
    """A launch of some blocks, ready to run, with its workers."""

    launch: Launch
    workers: list[Worker]


def thread_count() -> int:
    """Worker threads: SIMT_THREADS, or one per core that this process may use. Raises WrongSetting for nonsense."""
    text = os.environ.get("SIMT_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdigit() or not 1 <= int(text) <= 1024:
        raise WrongSetting(f"SIMT_THREADS={text!r}: it is the number of worker threads, 1 to 1024")
    return int(text)


class Run:
    """A kernel with its grid, its block and its parameters."""

    def __init__(self, launcher: Launcher, program: Program, name: str, grid, block, dynamic_shared_bytes: int, params: bytes):
        self.launcher, self.program, self.name = launcher, program, name
        self.grid, self.block, self.dynamic = grid, block, dynamic_shared_bytes
        self.params = aligned(len(params) // 8 + 2, np.int64)
        self.params.view(np.uint8)[: len(params)] = np.frombuffer(params, np.uint8)
        self.raw = params
        self.schedule = schedule.chosen()

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return math.prod(self.grid)

    def prepare(self, machine: Machine, blocks: np.ndarray | None, threads: int) -> Pass:
        """A pass over these blocks (None: all, in the schedule's order) with up to ``threads`` workers."""
        if machine.needs.allocates:
            self.launcher.heap.begin()
        cooperative = machine.needs.cooperative
        if blocks is None and (cooperative or self.schedule != "forward"):
            blocks = schedule.ordered(self.blocks, self.schedule, 1)
        count = self.blocks if blocks is None else len(blocks)
        workers = 1 if cooperative else max(min(threads, count), 1)
        launch = Launch(
            grid=self.grid, dynamic_shared_bytes=self.dynamic, params=self.params, table=self.launcher.memory.table(),
            globals=self.program.global_addresses(), serial=next(self.launcher.serials), cooperative=cooperative,
            block_list=blocks, block_count=count, warp_order=self.warp_order(machine),
            chunk=max(min(count // (8 * workers), CHUNK_LIMIT), 1))
        shared_bytes = machine.layout.dynamic_offset + self.dynamic
        held = count if cooperative else 1
        return Pass(launch, [self.launcher.workers.take(machine, shared_bytes, held) for _ in range(workers)])

    def warp_order(self, machine: Machine) -> np.ndarray:
        return schedule.ordered(-(-machine.threads // WARP), self.schedule, 2)

    def plain(self, blocks: np.ndarray | None) -> None:
        """Run blocks (all, or these) without counting."""
        if blocks is not None and not len(blocks):
            return
        machine = self.program.machine(self.name, self.block)
        self.execute([self.prepare(machine, blocks, thread_count())])

    def execute(self, passes: list[Pass]) -> None:
        """Run the passes together on the pool's threads. Raises the first fault, or KeyboardInterrupt once all have stopped."""
        watch = Watch(kernel_name(self.name), [one.launch for one in passes])
        try:
            self.wait(passes, watch)
        finally:
            watch.end()
            hostcalls.flush()
        workers = [worker for one in passes for worker in one.workers]
        failed = next((worker for worker in workers if worker.failed), None)
        if failed is not None:
            raise Fault(failed.field("fault_code"), *explain(self, failed))
        if watch.timed_out:
            raise Fault(TIMEOUT, *explain_timeout(self, workers, watch.limit))
        for one in passes:
            self.launcher.workers.give(one.workers)

    def wait(self, passes: list[Pass], watch: Watch) -> None:
        """Workers run on threads of the pool; this one waits, so that Ctrl-C gets through."""
        done, running = queue.SimpleQueue(), 0
        for one in passes:
            for worker in one.workers:
                worker.prepare(one.launch)
                POOL.submit(thread_count(), worker.run, done)
                running += 1
        try:
            while running:
                running -= finished(done, POLL_S)
                if running and not watch.tick():
                    stop(passes)
        except BaseException:
            stop(passes)
            while running:
                running -= finished(done, None)
            raise


def finished(done: queue.SimpleQueue, timeout_s: float | None) -> int:
    """1 once a worker has ended, 0 if none does in time."""
    try:
        done.get(timeout=timeout_s)
    except queue.Empty:
        return 0
    return 1


def stop(passes: list[Pass]) -> None:
    """Ask every worker to leave."""
    for one in passes:
        one.launch.stop[0] = 1
