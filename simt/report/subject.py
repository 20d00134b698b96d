"""What a report is about: one launch, the device that it is modelled on, and what follows from both."""
from __future__ import annotations

import collections
import dataclasses
import functools
import linecache
import os

from simt.model import MODEL_ERROR_PERCENT, Device, Occupancy, load, modelled, occupancy, whole_ns
from simt.observe import names
from simt.observe.profile import LaunchProfile
from simt.ptx.mangled import kernel_name

TAGS = ("exact", "sampled", "estimated", "simulated", "modelled")
"""From certain to less so: what is computed from several numbers has the last of their tags. "sampled": what would be exact if
all blocks had been counted."""

COMPUTE = ("issue", "fp32", "integer", "sfu", "fp64")
MEMORY = ("load/store unit", "L2 bandwidth", "DRAM bandwidth")
"""The terms of the time model that are units with a throughput."""

Place = tuple[str, int]


@dataclasses.dataclass(frozen=True)
class Subject:
    """A launch on its device."""

    profile: LaunchProfile
    device: Device

    @classmethod
    def of(cls, profile: LaunchProfile) -> Subject:
        return cls(profile, load(profile.device))

    @property
    def kernel(self) -> str:
        """The name that the learner gave it."""
        return kernel_name(self.profile.kernel)

    @functools.cached_property
    def occupancy(self) -> Occupancy:
        profile = self.profile
        return occupancy(self.device, profile.threads_per_block, profile.registers, profile.shared_bytes)

    @property
    def resident_blocks(self) -> int:
        """Blocks that an SM works on at once: what fits, and no more than the grid has for it."""
        return min(self.occupancy.blocks_per_sm, -(-self.profile.blocks_total // self.device.sm_count))

    @property
    def waves(self) -> float:
        """Grid over the blocks that the whole device holds at once."""
        return self.profile.blocks_total / max(self.occupancy.blocks_per_sm * self.device.sm_count, 1)

    @property
    def imbalance(self) -> float:
        """Part of the time in which SMs without a last block wait for the others: 1 - (blocks/SMs) / ceil(blocks/SMs)."""
        share = self.profile.blocks_total / self.device.sm_count
        return 1 - share / -(-self.profile.blocks_total // self.device.sm_count)

    # -- counters

    def count(self, *counters: str) -> int:
        """Sum of counters; one that the profile lacks is 0."""
        return sum(self.profile.counters.get(name, 0) for name in counters)

    def has(self, *counters: str) -> bool:
        """Whether all of them were counted."""
        return all(name in self.profile.counters for name in counters)

    def tag(self, *counters: str) -> str:
        """Of a number made from these counters."""
        found = [self.profile.tags.get(name, "exact") for name in counters]
        return max([*found, "sampled" if self.profile.sampled and found else "exact"], key=TAGS.index)

    def spread(self, *counters: str) -> float | None:
        """What sampling may be off by, as a part of the sum of these counters: how far two halves of the sample lie from their
        mean. None where all blocks were counted."""
        if not self.profile.sampled:
            return None
        total = self.count(*counters)
        return sum(self.profile.errors.get(name, 0) for name in counters) / abs(total) if total else 0.0

    def ratio(self, over: tuple[str, ...], under: tuple[str, ...]) -> float | None:
        """Sum over sum; None where there is nothing to divide by."""
        return self.count(*over) / self.count(*under) if self.has(*over) and self.count(*under) else None

    # -- modelled time

    @property
    def time_ns(self) -> float:
        return self.profile.time_ns or 0.0

    def share(self, *terms: str) -> float:
        """The largest of these terms as a part of the modelled time, 0 to 1."""
        found = [self.profile.terms.get(term, 0.0) for term in terms]
        return min(max(found, default=0.0) / self.time_ns, 1.0) if self.time_ns else 0.0

    def gain(self, part: float, *terms: str) -> float:
        """What less work for these units can save of the time at most, 0 to 1: this part of their own, and never more than
        what the other units leave."""
        others = {term: ns for term, ns in self.profile.terms.items() if term not in terms}
        rest = whole_ns(others) / self.time_ns if self.time_ns else 1.0
        return max(min(part * self.share(*terms), 1 - rest), 0.0)

    @property
    def error(self) -> str:
        """What is known of the error of modelled times, in words."""
        if MODEL_ERROR_PERCENT is None:
            return "the model's error is not validated yet"
        return f"the model's error is {MODEL_ERROR_PERCENT:g} %"

    def saved(self, change: dict[str, int]) -> float:
        """Part of the modelled time, 0 to 1, that the launch would lose with these counters in place of its own."""
        if not self.time_ns:
            return 0.0
        changed = dataclasses.replace(self.profile, counters=self.profile.counters | change)
        return max(1 - modelled(changed, self.device).time_ns / self.time_ns, 0.0)

    # -- lines of the program

    @functools.cached_property
    def kernel_place(self) -> Place | None:
        """Where the kernel starts: the line that loads its parameters, else its first line."""
        lines = self.profile.lines
        if not lines:
            return None
        loads = names.instructions("load_param")
        most = max(counters.get(loads, 0) for counters in lines.values())
        return min(place for place, counters in lines.items() if counters.get(loads, 0) == most)

    def cost(self, counters: dict[str, int]) -> float:
        """ns that these counters alone would take of what bounds the launch; a count where the model has no such term."""
        profile, bound = self.profile, self.profile.bound_by
        if bound == "barriers":
            return counters.get(names.BARRIERS, 0)
        if bound in ("DRAM bandwidth", "L2 bandwidth"):       # both are traffic that leaves the SM
            return counters.get(names.BLOCK_SECTORS_LD, 0) + counters.get(names.BLOCK_SECTORS_ST, 0)
        if bound in ("launch", ""):
            return counters.get(names.INSTRUCTIONS, 0)
        return modelled(dataclasses.replace(profile, counters=counters), self.device).terms_ns[bound]

    @functools.cached_property
    def hot_lines(self) -> list[tuple[Place, float]]:
        """Lines with their parts, 0 to 1, of what bounds the launch; the worst first. Parts add up to 1."""
        costs = {place: self.cost(counters) for place, counters in self.profile.lines.items()}
        total = sum(costs.values())
        found = [(place, cost / total) for place, cost in costs.items() if cost] if total else []
        return sorted(found, key=lambda item: (-item[1], item[0]))

    @property
    def weighed_by(self) -> str:
        """What the parts of ``hot_lines`` are parts of."""
        return {
            "barriers": "barriers", "launch": "instructions", "": "instructions",
            "DRAM bandwidth": "distinct sectors", "L2 bandwidth": "distinct sectors",
        }.get(self.profile.bound_by, f"{self.profile.bound_by} time")


def text_of(place: Place) -> str:
    """The line of source, stripped; "" where the source is not at hand."""
    return linecache.getline(*place).strip()


def path(file: str) -> str:
    """As people name a file: from the current folder, where it lies below."""
    near = os.path.relpath(file) if os.path.isabs(file) else file
    return file if near.startswith(os.pardir) else near


def named(place: Place | None) -> str:
    """A line as people name it: 'matmul.py:14'."""
    return f"{os.path.basename(place[0])}:{place[1]}" if place else "the kernel"


def quoted(place: Place | None) -> str:
    """'matmul.py:14: c[row, col] = total'"""
    text = text_of(place).rstrip(":") if place else ""
    return f"{named(place)}: {text}" if text else named(place)


def by_launch_shape(subjects: list[Subject]) -> list[list[Subject]]:
    """Launches of one kernel in one shape together; the groups that take most time first, the slowest launch first."""
    groups: dict[tuple, list[Subject]] = collections.defaultdict(list)
    for subject in subjects:
        profile = subject.profile
        groups[profile.kernel, profile.grid, profile.block, profile.shared_bytes].append(subject)
    for group in groups.values():
        group.sort(key=lambda subject: -subject.time_ns)
    return sorted(groups.values(), key=lambda group: -sum(subject.time_ns for subject in group))
