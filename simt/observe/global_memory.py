"""Counts global memory traffic: requests, 32-byte sectors, 128-byte lines, data wavefronts, bytes asked for.

A request is one warp instruction with at least one active lane. Atomics count as atomics, not here.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.ir.shapes import WARP
from simt.observe import names
from simt.observe.addresses import AddressObserver, Counts, bank_wavefronts, distinct
from simt.observe.observer import Reading, Slots

SECTOR_BYTES, LINE_BYTES = 32, 128
NAMES = {
    "load": (names.GLOBAL_REQUESTS_LD, names.GLOBAL_SECTORS_LD, names.GLOBAL_LINES_LD, names.GLOBAL_WAVEFRONTS_LD,
             names.GLOBAL_BYTES_REQUESTED_LD),
    "store": (names.GLOBAL_REQUESTS_ST, names.GLOBAL_SECTORS_ST, names.GLOBAL_LINES_ST, names.GLOBAL_WAVEFRONTS_ST,
              names.GLOBAL_BYTES_REQUESTED_ST),
}


class GlobalMemory(AddressObserver):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[Counts, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space != "global" or access.site.action not in NAMES:
            return
        known = None
        if access.shape.bases == 1 and access.site.bytes >= 4:
            offsets = [offset + access.offset for offset in access.shape.offsets]
            known = (1, distinct(offsets, SECTOR_BYTES), distinct(offsets, LINE_BYTES),
                     bank_wavefronts(offsets, access.site.bytes), WARP)
        flat = access.shape.bases == 1 and access.shape.flat
        counts = self.count(emitter, access, mask, "simt_count_global", 5, known, 1 if flat else LINE_BYTES)
        self.sites.append((counts, access.site))

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for counts, site in self.sites:
            scale = (1, 1, 1, 1, site.bytes)
            for name, value, times in zip(NAMES[site.action], counts.read(values), scale, strict=True):
                yield site.node.source, name, value * times
