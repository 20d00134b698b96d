"""Counts atomic requests by space, the lanes that took part, and how they crowd on addresses."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots


class Atomics(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.site.action != "atomic":
            return
        slot, text = self.slot(4), emitter.text
        self.sites.append((slot, access))
        emitter.memory.spill_addresses(access)
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot}")
        text.emit(f"call void @simt_count_atomic(ptr {at}, ptr %addresses, i32 {mask})")

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, access in self.sites:
            space = names.ATOMICS_SHARED if access.space == "shared" else names.ATOMICS_GLOBAL
            readings = (space, names.ATOMIC_LANES, names.ATOMIC_ADDRESSES, names.ATOMIC_PASSES)
            for name, value in zip(readings, values[slot:slot + 4], strict=True):
                yield access.site.node.source, name, value
