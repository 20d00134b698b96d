"""A launch under checkers or with simulated caches: on one worker thread, with one state for the whole launch.

Checkers look at every block that runs, caches at those that are counted.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simt.ir.origins import origins
from simt.observe import checking
from simt.observe.caches import Caches
from simt.observe.checker import Checker, Extent, Hazard
from simt.observe.observer import Observer
from simt.observe.profile import Finding
from simt.observe.race import Races
from simt.runtime.findings import tell
from simt.runtime.sampling import Sampling, watch_stride

if TYPE_CHECKING:
    from simt.runtime.memory import Allocation
    from simt.runtime.run import Pass, Run


def device_accesses(details) -> list:
    """Sites that may touch global memory."""
    return [site for site in details.sites if site.space in ("global", "generic")]


def targets_of(run, details) -> dict[int, Allocation | None]:
    """Number of each access to global memory -> the one allocation that it is based on; None where there may be several."""
    raw, find = run.raw, run.launcher.memory.find
    pointed = {offset: find(int.from_bytes(raw[offset:offset + 8], "little"))
               for offset in {offset for offsets in pointers_of(run, details).values() for offset in offsets or ()}}
    found = {}
    for index, offsets in pointers_of(run, details).items():
        bases = {pointed[offset] for offset in offsets or ()} - {None}
        found[index] = bases.pop() if len(bases) == 1 else None
    return found


def pointers_of(run, details) -> dict[int, tuple[int, ...] | None]:
    """Number of each access to global memory -> where in the parameters the pointers lie that it may be based on; None where
    it may be based on something else. The same for all launches of a kernel."""
    if not details.pointers:
        spec = run.program.kernels[run.name]
        places = {param.name: place.offset
                  for param, place in zip(details.kernel.graph.function.params, spec.params, strict=True)}
        for site in device_accesses(details):
            roots = origins(details.kernel.values, site.node.operands[0])
            known = all(root.name in places for root in roots)
            details.pointers[site.index] = tuple(places[root.name] + root.offset for root in roots) if known else None
    return details.pointers


def global_extent(run, details) -> tuple[frozenset[int], int]:
    """Numbers of the loads from allocations that no access of the launch writes, as far as the code says where they point;
    and the bytes of global memory that the other accesses may touch."""
    targets = targets_of(run, details)
    written = {targets[site.index] for site in device_accesses(details) if site.action != "load"}
    harmless = frozenset() if None in written else frozenset(
        site.index for site in device_accesses(details)
        if site.action == "load" and site.space == "global" and targets[site.index] not in {None, *written})
    touched = {target for index, target in targets.items() if index not in harmless}
    return harmless, run.launcher.memory.used_bytes if None in touched else sum(target.size for target in touched)


class Checks:
    """checkers: their classes;  counted_too: observers with a state that only counted blocks need"""

    def __init__(self, run: Run, sampling: Sampling):
        self.run_of, self.caches = run, sampling.caches
        self.checkers = tuple(checking()[name] for name in sampling.checks)
        self.counted_too = (Caches,) if sampling.caches else ()
        self.stride = watch_stride(run.blocks, sampling.sample)
        self.states: dict[type[Observer], np.ndarray] | None = None
        self.counted: list[Hazard] = []
        self.last: Pass | None = None

    def execute(self, passes: list[Pass]) -> None:
        """Run them one after the other."""
        for one in passes:
            worker = one.workers[0]
            if self.states is None:
                self.states = self.begin(worker)
            worker.set(watch_stride=self.stride, **{kind.FIELD: state.ctypes.data for kind, state in self.states.items()})
            self.run_of.execute([one])
            self.last = one
            for observer in worker.machine.observers:
                if isinstance(observer, Checker) and observer.FIELD is None:
                    self.counted += observer.hazards(None, worker.counters.tolist())

    def begin(self, worker) -> dict[type[Observer], np.ndarray]:
        run, memory = self.run_of, self.run_of.launcher.memory
        details = worker.machine.details
        harmless, global_bytes = global_extent(run, details) if Races in self.checkers else (frozenset(), 0)
        resident = run.blocks if worker.machine.needs.cooperative else 1
        extent = Extent(worker.machine.threads, run.blocks, resident, worker.shared_bytes, worker.machine.layout.local_bytes,
                        global_bytes, len(details.sites), harmless,
                        memory.fresh.marks if memory.fresh is not None else {})
        return {kind: kind.state(extent) for kind in self.checkers if kind.FIELD} | {
            kind: kind.state(self.caches) for kind in self.counted_too}

    def run(self, blocks: np.ndarray) -> None:
        """Run blocks that are not counted."""
        run = self.run_of
        self.execute([run.prepare(run.program.machine(run.name, run.block, self.checkers), blocks, 1)])

    @property
    def blocks_watched(self) -> int:
        """Blocks whose shared memory is checked for races."""
        last = self.run_of.blocks - 1
        return last // self.stride + 1 + (last % self.stride > 0) if Races in self.checkers else 0

    @property
    def is_full(self) -> bool:
        """Whether the race checker watched a part only of the global memory that the launch touched."""
        return self.states is not None and Races in self.states and Races.is_full(self.states[Races])

    def written_sectors(self) -> int | None:
        """Sectors that counted blocks wrote to memory in the end; None without caches."""
        return Caches.written_sectors(self.states[Caches]) if self.caches else None

    def findings(self) -> list[Finding]:
        """What was seen, in words, the earliest place first."""
        if self.last is None:
            return []
        worker = self.last.workers[0]
        found = list(self.counted)
        for observer in worker.machine.observers:
            if isinstance(observer, Checker) and observer.FIELD:
                found += observer.hazards(self.states[type(observer)], [])
        return tell(self.run_of, worker, found)
