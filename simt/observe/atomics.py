"""Counts atomic requests by space, and the lanes that took part."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots


class Atomics(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.site.action == "atomic":
            slot = self.slot(2)
            self.sites.append((slot, access.site))
            some = emitter.text.define(f"icmp ne i32 {mask}, 0")
            self.add(emitter, slot, emitter.text.define(f"zext i1 {some} to i64"))
            self.add_lanes(emitter, slot + 1, mask)

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, site in self.sites:
            name = names.ATOMICS_SHARED if site.space == "shared" else names.ATOMICS_GLOBAL
            yield site.node.source, name, values[slot]
            yield site.node.source, names.ATOMIC_LANES, values[slot + 1]
