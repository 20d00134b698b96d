"""Simulates the caches on the way to global memory (simt/observe/lru.py): hit rates and DRAM bytes, per line of the program.

Every block begins with an empty first-level cache of its share; blocks run one after the other, so what they find in the
second level is what blocks before them left. The local memory of threads does not go through it.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from simt.observe import names
from simt.observe.observer import ACTIONS, Observer, Reading, Slots, laid_out, native

LINE_BYTES = 128


@dataclasses.dataclass(frozen=True, slots=True)
class CacheSizes:
    """Bytes of first-level cache that one block can count on, and of the second level."""

    l1_bytes: int
    l2_bytes: int


class Caches(Observer):
    FIELD = "cache_state"
    DECLARATIONS = (native("cache_access", 3, 4),)

    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    @classmethod
    def symbols(cls) -> dict[str, Callable]:
        from simt.observe import lru

        return {"cache_access": lru.cache_access}

    @classmethod
    def state(cls, sizes: CacheSizes) -> np.ndarray:
        from simt.observe import lru

        sets = [max(size // LINE_BYTES // ways, 1)
                for size, ways in ((sizes.l1_bytes, lru.WAYS_L1), (sizes.l2_bytes, lru.WAYS_L2))]
        state = laid_out(lru.HEADER, {lru.L1_AT: sets[0] * lru.WAYS_L1 * lru.WAY, lru.L2_AT: sets[1] * lru.WAYS_L2 * lru.WAY})
        state[[lru.L1_SETS, lru.L2_SETS]] = sets
        return state

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space != "global":
            return
        from simt.observe import lru

        slot, text = self.slot(lru.SLOTS), emitter.text
        self.sites.append((slot, access.site))
        emitter.memory.spill_addresses(access)
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot}")
        numbers = (self.wide(emitter, mask), access.site.bytes, ACTIONS.index(access.site.action),
                   emitter.context.load("block"))
        self.call(emitter, "cache_access", ("%field.cache_state", at, "%addresses"), numbers)

    def collect(self, values: list[int]) -> Iterator[Reading]:
        from simt.observe import lru

        readings = (names.L1_HITS_LD, names.L2_READS, names.L2_READ_HITS, names.DRAM_READ_SECTORS)
        for slot, site in self.sites:
            for name, value in zip(readings, values[slot:slot + lru.SLOTS], strict=True):
                yield site.node.source, name, value

    @staticmethod
    def written_sectors(state: np.ndarray) -> int:
        """Sectors that went, or in the end will go, back to memory."""
        from simt.observe import lru

        ways = state[int(state[lru.L2_AT]):].reshape(-1, lru.WAY)
        return int(state[lru.WRITTEN_BACK]) + int(np.bitwise_count(ways[:, lru.DIRTY]).sum())
