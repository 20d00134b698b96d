"""Counts requests to local memory: spills and arrays that did not fit registers."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots

NAMES = {"load": names.LOCAL_REQUESTS_LD, "store": names.LOCAL_REQUESTS_ST}


class LocalMemory(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space == "local" and access.site.action in NAMES:
            slot = self.slot()
            self.sites.append((slot, access.site))
            some = emitter.text.define(f"icmp ne i32 {mask}, 0")
            self.add(emitter, slot, emitter.text.define(f"zext i1 {some} to i64"))

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, site in self.sites:
            yield site.node.source, NAMES[site.action], values[slot]
