"""Launches kernels: counted where asked, on the pool, or on the launching thread where they are short (quick.py)."""
from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING

from simt.jit import hostcalls
from simt.runtime.counting import Counted, counted
from simt.runtime.diagnose import explain
from simt.runtime.faults import Fault
from simt.runtime.heap import Heap
from simt.runtime.quick import LIMIT, SHORT_S, Guard, QuickLaunch
from simt.runtime.run import Run
from simt.runtime.sampling import Sampling
from simt.runtime.worker import Workers

if TYPE_CHECKING:
    from simt.runtime.memory import Memory
    from simt.runtime.program import Program

ASKED = ("SIMT_SCHEDULE", "SIMT_WATCHDOG_S")        # with these set, every launch goes through the pool


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
            return counted(Run(self, program, name, grid, block, dynamic_shared_bytes, params), sampling)
        key = (name, grid, block, dynamic_shared_bytes)
        quick = None if any(name in os.environ for name in ASKED) else program.quick.get(key)
        if quick is None or not quick.run(params, self.memory.table(), next(self.serials), self.guard):
            began = time.perf_counter()
            run = Run(self, program, name, grid, block, dynamic_shared_bytes, params)
            run.plain(None)
            if time.perf_counter() - began < SHORT_S:
                self.remember(program, key, run)
            return None
        hostcalls.flush()
        if quick.worker.failed:
            del program.quick[key]
            run = Run(self, program, name, grid, block, dynamic_shared_bytes, params)
            raise Fault(quick.worker.field("fault_code"), *explain(run, quick.worker))
        return None

    def remember(self, program: Program, key: tuple, run: Run) -> None:
        """Later launches of this shape run on the launching thread."""
        one = run.prepare(program.machine(run.name, run.block), None, 1)
        if not one.launch.cooperative and len(program.quick) < LIMIT:
            one.workers[0].prepare(one.launch)
            program.quick[key] = QuickLaunch(one)
