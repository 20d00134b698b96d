"""The profile of one launch: its shape, resources, counters, and the time a model gives it."""
from __future__ import annotations

import dataclasses
import math


@dataclasses.dataclass(slots=True, kw_only=True)
class LaunchProfile:
    """What one launch did.

    counters:     totals over the whole grid, by the names in ``simt.observe.names``; scaled up where ``sampled``
    lines:        the same counters by (file, line) of the learner's program
    tags:         "exact", "estimated", "simulated" or "modelled" for each counter
    registers:    per thread;  spill_bytes: per thread, None where the compiler's log is not known
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
    lines: dict[tuple[str, int], dict[str, int]] = dataclasses.field(default_factory=dict)
    tags: dict[str, str] = dataclasses.field(default_factory=dict)
    device: str
    time_ns: float | None = None
    terms: dict[str, float] = dataclasses.field(default_factory=dict)
    bound_by: str = ""

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory of one block."""
        return self.static_shared_bytes + self.dynamic_shared_bytes

    @property
    def warps_per_block(self) -> int:
        return math.ceil(self.threads_per_block / 32)
