"""Counts the distinct global sectors that each block touches: traffic below a perfect cache of one block.

Each worker owns a hash set of sectors; an entry belongs to the block whose number it carries, so a new block starts empty.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots

NAMES = {"load": names.BLOCK_SECTORS_LD, "store": names.BLOCK_SECTORS_ST}


class BlockTraffic(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space != "global" or access.site.action not in NAMES:
            return
        slot = self.slot()
        self.sites.append((slot, access.site))
        emitter.memory.spill_addresses(access)
        kind = int(access.site.action == "store")
        text = emitter.text
        new = text.define(f"call i32 @simt_new_sectors(ptr %context, ptr %addresses, i32 {mask}, i64 {kind})")
        self.add(emitter, slot, text.define(f"zext i32 {new} to i64"))

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, site in self.sites:
            yield site.node.source, NAMES[site.action], values[slot]
