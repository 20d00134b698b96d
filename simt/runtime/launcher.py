"""A launch: blocks over worker threads, counted where asked, stopped by a fault or by Ctrl-C.

Short ones run on the launching thread (simt/runtime/quick.py).
"""
from __future__ import annotations

import dataclasses
import itertools
import math
import os
import queue
import time
from typing import TYPE_CHECKING

import numpy as np

from simt.ir.shapes import WARP
from simt.jit import hostcalls
from simt.observe import counting
from simt.runtime import schedule
from simt.runtime.checking import Checks
from simt.runtime.counting import Counted, Tally
from simt.runtime.diagnose import explain, explain_timeout
from simt.runtime.faults import Fault, WrongSetting
from simt.runtime.heap import Heap
from simt.runtime.names import kernel_name
from simt.runtime.pool import POOL
from simt.runtime.quick import LIMIT, SHORT_S, Guard, QuickLaunch
from simt.runtime.sampling import Sampling, classes
from simt.runtime.watch import TIMEOUT, Watch
from simt.runtime.worker import Worker, Workers, aligned

if TYPE_CHECKING:
    from simt.jit.compile import Machine
    from simt.runtime.memory import Memory
    from simt.runtime.program import Program

CHUNK_LIMIT = 64            # blocks that a worker takes at once, at most
POLL_S = 0.05
ASKED = ("SIMT_SCHEDULE", "SIMT_WATCHDOG_S")        # with these set, every launch goes through the pool


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


class Launcher:
    """Runs kernels of programs whose data lie in ``memory``."""

    def __init__(self, memory: Memory):
        self.memory = memory
        self.serials = itertools.count(1)
        self.workers = Workers()
        self.guard = Guard()
        self.heap = Heap(memory)

    def launch(self, program: Program, name: str, grid: tuple[int, int, int], block: tuple[int, int, int],
               dynamic_shared_bytes: int, params: bytes, *, cooperative: bool = False,
               sampling: Sampling | None = None) -> Counted | None:
        """Run a grid to its end. grid, block: extents x, y, z; params: the parameter block as the PTX lays it out.

        Returns counters if ``sampling`` is given. Raises Fault after a memory fault or an impossible barrier, Unsupported
        for PTX that has no row, and KeyboardInterrupt once the workers have stopped.
        """
        hostcalls.use_heap(self.heap)
        if sampling is not None:
            return _Run(self, program, name, grid, block, dynamic_shared_bytes, params).counted(sampling)
        key = (name, grid, block, dynamic_shared_bytes)
        quick = None if any(name in os.environ for name in ASKED) else program.quick.get(key)
        if quick is None or not quick.run(params, self.memory.table(), next(self.serials), self.guard):
            began = time.perf_counter()
            run = _Run(self, program, name, grid, block, dynamic_shared_bytes, params)
            run.plain(None)
            if time.perf_counter() - began < SHORT_S:
                self.remember(program, key, run)
            return None
        hostcalls.flush()
        if quick.worker.failed:
            del program.quick[key]
            run = _Run(self, program, name, grid, block, dynamic_shared_bytes, params)
            raise Fault(quick.worker.field("fault_code"), *explain(run, quick.worker))
        return None

    def remember(self, program: Program, key: tuple, run: _Run) -> None:
        """Later launches of this shape run on the launching thread."""
        one = run.prepare(program.machine(run.name, run.block), None, 1)
        if not one.launch.cooperative and len(program.quick) < LIMIT:
            one.workers[0].prepare(one.launch)
            program.quick[key] = QuickLaunch(one)


class _Run:
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

    def counted(self, sampling: Sampling) -> Counted:
        """Run the blocks of each class with counters, and the rest plain; scale each class to its size."""
        checks = Checks(self, sampling) if sampling.checks or sampling.caches else None
        more = (*checks.counted_too, *checks.checkers) if checks else ()
        groups, tally, done = classes(self.grid, sampling), Tally(), set()
        if groups:
            machine = self.program.machine(self.name, self.block, (*counting(), *more))
            parts = [(group, half) for group in groups for half in group.halves]
            threads = thread_count() if len(parts) == 1 and not checks else 1
            passes = [self.prepare(machine, np.array(half, np.int64), threads) for _, half in parts]
            passes[0].launch.sample_block = groups[0].counted[0]
            self.execute(passes) if checks is None else checks.execute(passes)
            for (group, half), one in zip(parts, passes, strict=True):
                tally.add(one, group, half)
            done = {index for group in groups for index in group.counted}
        if sampling.execute == "all" and len(done) < self.blocks:
            rest = np.setdiff1d(np.arange(self.blocks, dtype=np.int64), np.fromiter(done, np.int64))
            self.plain(rest) if checks is None else checks.run(rest)
        return tally.counted(len(done), self.blocks, checks)


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
