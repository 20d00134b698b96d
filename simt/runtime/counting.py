"""Adds up what observers counted on the workers of a launch, scaled from the counted blocks to the whole grid."""
from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from simt.observe import names
from simt.observe.observer import add_up
from simt.observe.profile import AccessSample, Finding
from simt.observe.samples import Samples
from simt.runtime.memory import READ_ONLY_END

if TYPE_CHECKING:
    from simt.runtime.checking import Checks
    from simt.runtime.launcher import Pass
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
    findings: list[Finding]
    executed: dict[int, int]
    samples: list[AccessSample]
    errors: dict[str, int]


class Tally:
    """Sums over the counted blocks of a launch."""

    def __init__(self):
        self.totals: dict[str, Fraction] = {}
        self.lines: dict[tuple[str, int], dict[str, Fraction]] = {}
        self.executed: dict[int, Fraction] = {}
        self.samples: list[AccessSample] = []
        self.touched: dict[int, list[int]] = {}         # start of each touched allocation -> its bytes, loaded and stored
        self.crowded = False
        self.halves: dict[BlockClass, list[dict[str, Fraction]]] = {}

    def errors(self) -> dict[str, int]:
        """How far the halves of each class lie from their mean, summed over the classes; only what is not 0."""
        found: dict[str, Fraction] = {}
        for first, second in self.halves.values():
            for name in {*first, *second}:
                found[name] = found.get(name, 0) + abs(first.get(name, 0) - second.get(name, 0)) / Fraction(2)
        return {name: value for name, value in rounded(found).items() if value}

    def add(self, one: Pass, group: BlockClass, count: int) -> None:
        """``count`` of the counted blocks of a class."""
        scale = Fraction(group.size, len(group.counted))
        values = np.sum([worker.counters for worker in one.workers], axis=0).tolist()
        observers = one.workers[0].machine.observers
        found, by_line = add_up(observers, values)
        accumulate(self.totals, found, scale)
        if count < len(group.counted):
            half = accumulate({}, found, Fraction(group.size, count))
            self.halves.setdefault(group, []).append(half)
        for place, counters in by_line.items():
            accumulate(self.lines.setdefault(place, {}), counters, scale)
        for observer in observers:
            accumulate(self.executed, observer.executed(values), scale)
            if isinstance(observer, Samples) and not self.samples:
                self.samples = observer.samples(values)
        starts, ends, _ = one.launch.table
        sizes = (ends & ~READ_ONLY_END) - starts
        for worker in one.workers:
            for index, kind in np.argwhere(worker.touched[:-1]).tolist():
                self.touched.setdefault(int(starts[index]), [0, 0])[kind] = int(sizes[index])
            self.crowded = self.crowded or bool(worker.field("sectors_crowded"))

    def counted(self, blocks_counted: int, blocks_total: int, checks: Checks | None) -> Counted:
        if blocks_counted and checks is not None and (written := checks.written_sectors()) is not None:
            accumulate(self.totals, {names.DRAM_WRITE_SECTORS: written}, Fraction(blocks_total, blocks_counted))
        counters = dict.fromkeys(names.COUNTERS, 0) | rounded(self.totals)
        for kind, name in enumerate(FOOTPRINT):
            counters[name] = sum(sizes[kind] for sizes in self.touched.values())
        guessed = {*FOOTPRINT} | ({names.BLOCK_SECTORS_LD, names.BLOCK_SECTORS_ST} if self.crowded else set())
        tags = dict.fromkeys(counters, "exact") | dict.fromkeys(guessed, "estimated")
        tags |= {name: "simulated" for name in names.SIMULATED if name in counters}
        findings = checks.findings() if checks is not None else []
        lines = {place: rounded(found) for place, found in self.lines.items()}
        watched = checks.blocks_watched if checks is not None else 0
        return Counted(counters, lines, tags, blocks_counted < blocks_total, blocks_counted, blocks_total, watched, findings,
                       rounded(self.executed), self.samples, self.errors())


def accumulate(totals: dict, found: dict, scale: Fraction) -> dict:
    times = scale.numerator if scale.denominator == 1 else scale        # whole numbers add up many times faster
    for name, value in found.items():
        totals[name] = totals.get(name, 0) + value * times
    return totals


def rounded(totals: dict) -> dict:
    return {name: round(value) for name, value in totals.items()}
