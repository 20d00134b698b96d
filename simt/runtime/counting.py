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

FOOTPRINT = (names.FOOTPRINT_BYTES_LD, names.FOOTPRINT_BYTES_ST)


@dataclasses.dataclass(slots=True, eq=False)
class Counted:
    """Counters of a launch, scaled to the whole grid; by name, and by (file, line) of the learner's program.

    executed: warps that ran each line of the PTX
    findings: of the checkers;  samples: addresses of one warp at each memory access
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


class Tally:
    """Sums over the counted blocks of a launch."""

    def __init__(self):
        self.totals: dict[str, Fraction] = {}
        self.lines: dict[tuple[str, int], dict[str, Fraction]] = {}
        self.executed: dict[int, Fraction] = {}
        self.samples: list[AccessSample] = []
        self.touched: dict[int, list[int]] = {}         # start of each touched allocation -> its bytes, loaded and stored
        self.crowded = False

    def add(self, one: Pass, scale: Fraction) -> None:
        """One class of blocks; each counted one stands for ``scale``."""
        values = np.sum([worker.counters for worker in one.workers], axis=0).tolist()
        observers = one.workers[0].machine.observers
        found, by_line = add_up(observers, values)
        accumulate(self.totals, found, scale)
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
                       rounded(self.executed), self.samples)


def accumulate(totals: dict, found: dict, scale: Fraction) -> None:
    times = scale.numerator if scale.denominator == 1 else scale        # whole numbers add up many times faster
    for name, value in found.items():
        totals[name] = totals.get(name, 0) + value * times


def rounded(totals: dict) -> dict:
    return {name: round(value) for name, value in totals.items()}
