"""Counts shared memory traffic: requests, wavefronts, bank conflicts (wavefronts above the ideal), bytes asked for.

The ideal is one wavefront for up to 4 bytes a lane, one per half warp with active lanes for 8, one per quarter for 16.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.ir.shapes import WARP
from simt.observe import names
from simt.observe.addresses import BANK_BYTES, AddressObserver, Counts, bank_wavefronts, lanes_per_wavefront
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
        self.sites: list[tuple[Counts, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space != "shared" or access.site.action not in NAMES:
            return
        size = access.site.bytes
        known = None
        if access.shape.bases == 1 and size >= BANK_BYTES:
            known = (1, bank_wavefronts(access.shape.offsets, size), WARP, WARP // lanes_per_wavefront(size))
        counts = self.count(emitter, access, mask, "simt_count_shared", 4, known, 1)
        self.sites.append((counts, access.site))

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for counts, site in self.sites:
            requests, wavefronts, lanes, ideal = counts.read(values)
            readings = (requests, wavefronts, lanes * site.bytes, wavefronts - ideal)
            for name, value in zip(NAMES[site.action], readings, strict=True):
                yield site.node.source, name, value
