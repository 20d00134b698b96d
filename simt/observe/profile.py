"""The profile of one launch: its shape, resources, counters, and the time a model gives it."""
from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong that a checker saw in a launch.

    kind:   "race", "alias" (two arrays share bytes), "init" or "sync"
    note:   whether it is harmless here, and told all the same
    text:   what happened: threads, lines, array and index;  advice: the fix that usually applies
    places: (file, line) of each thread involved;  count: how often, at least
    """

    kind: str
    note: bool
    text: str
    advice: str
    places: tuple[tuple[str, int], ...]
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Code:
    """What a kernel was compiled to.

    ptx:   text of the whole module
    cubin: the machine code made from it, an ELF file; None where ptxas cannot compile the PTX for the device
    """

    ptx: str
    cubin: bytes | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AccessSample:
    """The addresses of one warp at one memory access.

    file, line: of the learner's program, "" and 0 where the compiler named none
    space:      "global", "shared" or "local";  action: "load", "store" or "atomic";  bytes: that each lane asks for
    mask:       the lanes that took part, a bit each;  addresses: of all 32 lanes, in the space; others' mean nothing
    """

    file: str
    line: int
    space: str
    action: str
    bytes: int
    mask: int
    addresses: tuple[int, ...]


@dataclasses.dataclass(slots=True, kw_only=True)
class LaunchProfile:
    """What one launch did.

    blocks_watched: blocks whose shared memory was checked for races; 0 where nobody asked
    globally_watched: False where the race checker had no room for all of the global memory that the launch touched
    counters:     totals over the whole grid, by the names in ``simt.observe.names``; scaled up where ``sampled``
    lines:        the same counters by (file, line) of the learner's program
    errors:       how far two halves of the sampled blocks lie from their mean, scaled up as the counters are; none where all
                  blocks were counted, or all that were counted agree
    tags:         "exact", "estimated", "simulated" or "modelled" for each counter
    registers:    per thread;  spill_bytes: per thread, None where the compiler's log is not known
    samples:      the addresses of one warp at each memory access
    checks:       names of the checkers that looked at every block;  findings: what they saw
    executed:     warps that ran each line of the PTX, over the whole grid;  code: what the kernel was compiled to, where known
    time_ns, terms, bound_by: modelled time on ``device``; terms in ns; None, {} and "" before a model saw the profile
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    threads_per_block: int
    dynamic_shared_bytes: int
    static_shared_bytes: int
    registers: int
    local_bytes: int
    spill_bytes: int | None
    counters: dict[str, int]
    sampled: bool
    blocks_counted: int
    blocks_total: int
    blocks_watched: int = 0
    globally_watched: bool = True
    checks: tuple[str, ...] = ()
    lines: dict[tuple[str, int], dict[str, int]] = dataclasses.field(default_factory=dict)
    errors: dict[str, int] = dataclasses.field(default_factory=dict)
    tags: dict[str, str] = dataclasses.field(default_factory=dict)
    samples: list[AccessSample] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    executed: dict[int, int] = dataclasses.field(default_factory=dict)
    code: Code | None = dataclasses.field(default=None, repr=False)
    device: str
    time_ns: float | None = None
    terms: dict[str, float] = dataclasses.field(default_factory=dict)
    bound_by: str = ""

    @property
    def sampling_told(self) -> str:
        """How much was counted, and how far that may be off, in words; "" where all blocks were counted."""
        if not self.sampled:
            return ""
        told = f"sampled: {self.blocks_counted} of {self.blocks_total} blocks were counted, the rest scaled up"
        parts = [(error / abs(self.counters[name]), name) for name, error in self.errors.items() if self.counters.get(name)]
        if not parts:
            return f"{told}; the sampled blocks of a kind agree in all counters"
        part, name = max(parts)
        return f"{told}; halves of the sample differ by up to {100 * part:.2g} % from their mean ({name})"

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory of one block."""
        return self.static_shared_bytes + self.dynamic_shared_bytes

    @property
    def warps_per_block(self) -> int:
        return math.ceil(self.threads_per_block / 32)
