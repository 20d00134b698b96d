"""Counts shared memory traffic: requests, wavefronts, bank conflicts (wavefronts above the ideal), bytes asked for.

The ideal is one wavefront for up to 4 bytes a lane, one per half warp with active lanes for 8, one per quarter for 16.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.ir.shapes import WARP
from simt.observe import names
from simt.observe.addresses import BANK_BYTES, AddressObserver, bank_wavefronts, lanes_per_wavefront
from simt.observe.observer import Reading, Slots

NAMES = {
    "load": (names.SHARED_REQUESTS_LD, names.SHARED_WAVEFRONTS_LD, names.SHARED_BYTES_REQUESTED_LD,
             names.SHARED_CONFLICTS_LD),
    "store": (names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST, names.SHARED_BYTES_REQUESTED_ST,
              names.SHARED_CONFLICTS_ST),
}


class SharedMemory(AddressObserver):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space != "shared" or access.site.action not in NAMES:
            return
        slot, size = self.slot(4), access.site.bytes
        self.sites.append((slot, access.site))
        known = None
        if access.shape.bases == 1 and size >= BANK_BYTES:
            known = (1, bank_wavefronts(access.shape.offsets, size), WARP, WARP // lanes_per_wavefront(size))
        self.count(emitter, access, mask, slot, "simt_count_shared", known, 1)

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, site in self.sites:
            requests, wavefronts, lanes, ideal = values[slot:slot + 4]
            readings = (requests, wavefronts, lanes * site.bytes, wavefronts - ideal)
            for name, value in zip(NAMES[site.action], readings, strict=True):
                yield site.node.source, name, value
