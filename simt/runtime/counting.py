"""Counted launches: some blocks run with observers, and what they counted is scaled up to the whole grid."""
from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from simt.observe import counting, names
from simt.observe.linear import weighted
from simt.observe.profile import AccessSample, Finding
from simt.observe.samples import Samples
from simt.runtime.checking import Checks
from simt.runtime.memory import READ_ONLY_END
from simt.runtime.run import thread_count
from simt.runtime.sampling import Sampling, classes

if TYPE_CHECKING:
    from simt.observe.linear import Readings
    from simt.runtime.run import Pass, Run
    from simt.runtime.sampling import BlockClass

FOOTPRINT = (names.FOOTPRINT_BYTES_LD, names.FOOTPRINT_BYTES_ST)


@dataclasses.dataclass(slots=True, eq=False)
class Counted:
    """Counters of a launch, scaled to the whole grid; by name, and by (file, line) of the learner's program.

    executed: warps that ran each line of the PTX
    findings: of the checkers;  samples: addresses of one warp at each memory access
    errors: what sampling may be off by, for counters whose sampled blocks differ
    """

    counters: dict[str, int]
    lines: dict[tuple[str, int], dict[str, int]]
    tags: dict[str, str]
    sampled: bool
    blocks_counted: int
    blocks_total: int
    blocks_watched: int
    globally_watched: bool
    checks: tuple[str, ...]
    findings: list[Finding]
    executed: dict[int, int]
    samples: list[AccessSample]
    errors: dict[str, int]


class Tally:
    """Sums over the counted blocks of a launch.

    Slots are added up, each class of blocks scaled to its size, and read once; and the difference between the two halves of
    each class in the same way.
    """

    def __init__(self):
        self.readings: Readings | None = None
        self.parts: list[tuple[np.ndarray, Fraction, Fraction]] = []    # slots, their scale, and the same with the half's sign
        self.samples: list[AccessSample] = []
        self.touched: dict[int, list[int]] = {}         # start of each touched allocation -> its bytes, loaded and stored
        self.crowded = False

    def add(self, one: Pass, group: BlockClass, blocks: tuple[int, ...]) -> None:
        """The counted blocks of a class, or one half of them."""
        machine = one.workers[0].machine
        values, self.readings = np.sum([worker.counters for worker in one.workers], axis=0), machine.readings
        sign = 0 if len(group.halves) == 1 else 1 if blocks == group.halves[0] else -1
        self.parts.append((values[self.readings.slots], Fraction(group.size, len(group.counted)),
                           Fraction(sign * group.size, len(blocks))))
        for observer in machine.observers:
            if isinstance(observer, Samples) and not self.samples:
                self.samples = observer.samples(values.tolist())
        starts, ends, _ = one.launch.table
        sizes = (ends & ~READ_ONLY_END) - starts
        for worker in one.workers:
            for index, kind in np.argwhere(worker.touched[:-1]).tolist():
                self.touched.setdefault(int(starts[index]), [0, 0])[kind] = int(sizes[index])
            self.crowded = self.crowded or bool(worker.field("sectors_crowded"))

    def counted(self, blocks_counted: int, blocks_total: int, checks: Checks | None) -> Counted:
        (totals, by_line, executed), unit = self.read([(values, scale) for values, scale, _ in self.parts])
        if blocks_counted and checks is not None and (written := checks.written_sectors()) is not None:
            totals[names.DRAM_WRITE_SECTORS] = written * unit * blocks_total // blocks_counted
        counters = dict.fromkeys(names.COUNTERS, 0) | divided(names.with_most(totals), unit)
        for kind, name in enumerate(FOOTPRINT):
            counters[name] = sum(sizes[kind] for sizes in self.touched.values())
        return Counted(
            counters=counters, tags=self.tags(counters),
            lines={place: divided(found, unit) for place, found in by_line.items()},
            sampled=blocks_counted < blocks_total, blocks_counted=blocks_counted, blocks_total=blocks_total,
            blocks_watched=checks.blocks_watched if checks is not None else 0,
            globally_watched=checks is None or not checks.is_full,
            checks=tuple(kind.NAME for kind in checks.checkers) if checks is not None else (),
            findings=checks.findings() if checks is not None else [],
            executed=divided(executed, unit), samples=self.samples, errors=self.errors())

    def tags(self, counters: dict[str, int]) -> dict[str, str]:
        guessed = {*FOOTPRINT} | ({names.BLOCK_SECTORS_LD, names.BLOCK_SECTORS_ST} if self.crowded else set())
        tags = dict.fromkeys(counters, "exact") | dict.fromkeys(guessed, "estimated")
        return tags | {name: "simulated" for name in names.SIMULATED if name in counters}

    def errors(self) -> dict[str, int]:
        """How far the first halves of the classes lie from the mean of both, scaled up; only what is not 0."""
        halves = [(values, signed) for values, _, signed in self.parts if signed]
        if not halves:
            return {}
        (totals, *_), unit = self.read(halves)
        return {name: abs(value) for name, value in divided(names.with_most(totals), 2 * unit).items() if value}

    def read(self, parts: list[tuple[np.ndarray, Fraction]]) -> tuple[tuple[dict, dict, dict], int]:
        """What the sum of the parts says, each times its factor and a common unit; and that unit."""
        unit = math.lcm(*(factor.denominator for _, factor in parts))
        if self.readings is None:
            return ({}, {}, {}), unit
        return self.readings.of(weighted([(values, int(factor * unit)) for values, factor in parts])), unit


def counted(run: Run, sampling: Sampling) -> Counted:
    """Run the blocks of each class with counters, and the rest plain; scale each class to its size."""
    checks = Checks(run, sampling) if sampling.checks or sampling.caches else None
    more = (*checks.counted_too, *checks.checkers) if checks else ()
    groups, tally, done = classes(run.grid, sampling), Tally(), set()
    if groups:
        machine = run.program.machine(run.name, run.block, (*counting(), *more))
        parts = [(group, half) for group in groups for half in group.halves]
        threads = thread_count() if len(parts) == 1 and not checks else 1
        passes = [run.prepare(machine, np.array(half, np.int64), threads) for _, half in parts]
        passes[0].launch.sample_block = groups[0].counted[0]
        run.execute(passes) if checks is None else checks.execute(passes)
        for (group, half), one in zip(parts, passes, strict=True):
            tally.add(one, group, half)
        done = {index for group in groups for index in group.counted}
    if sampling.execute == "all" and len(done) < run.blocks:
        rest = np.setdiff1d(np.arange(run.blocks, dtype=np.int64), np.fromiter(done, np.int64))
        run.plain(rest) if checks is None else checks.run(rest)
    return tally.counted(len(done), run.blocks, checks)


def divided(totals: dict, unit: int) -> dict:
    """Whole numbers next to the quotients."""
    return {name: (2 * value + unit) // (2 * unit) for name, value in totals.items()}
