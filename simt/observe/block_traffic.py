"""Counts the distinct global sectors that each block touches: traffic below a perfect cache of one block.

Each worker owns a hash set of sectors; an entry belongs to the block whose number it carries, so a new block starts empty.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.ir.ranges import signed
from simt.ir.shapes import WARP
from simt.observe import names
from simt.observe.addresses import AddressObserver
from simt.observe.observer import Reading, Slots

SECTOR_BYTES = 32
NAMES = {"load": names.BLOCK_SECTORS_LD, "store": names.BLOCK_SECTORS_ST}


class BlockTraffic(AddressObserver):
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
        if access.shape.bases == 1:
            mask = self.first_of_sectors(emitter, access, mask)
        new = text.define(f"call i32 @simt_new_sectors(ptr %context, ptr %addresses, i32 {mask}, i64 {kind})")
        self.add(emitter, slot, text.define(f"zext i32 {new} to i64"))

    def first_of_sectors(self, emitter, access, mask: str) -> str:
        """i32: of the lanes in ``mask``, those that are enough to see each sector; where all run and the base is aligned, the
        first of each."""
        sectors = [(access.offset + offset) // SECTOR_BYTES for offset in access.shape.offsets]
        first = sum(1 << sectors.index(sector) for sector in set(sectors))
        plain = self.is_plain(emitter, access, mask, 1 if access.shape.flat else SECTOR_BYTES)
        return emitter.text.define(f"select i1 {plain}, i32 {signed(first, WARP)}, i32 {mask}")

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, site in self.sites:
            yield site.node.source, NAMES[site.action], values[slot]
