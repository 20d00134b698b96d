"""Counts atomic requests by space, the lanes that took part, and how they crowd on addresses: of a request, and of the grid."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots

BUCKETS = 256                   # as in simt/jit/native/count.ll; addresses of 4 bytes share them, whole grids seldom do
COMBINED = {"add", "min", "max", "and", "or", "xor", "inc", "dec"}
"""Of integers: the assembler lets one lane update an address that it knows to be uniform (VOTE, POPC or REDUX in the SASS)."""


class Atomics(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []
        self.buckets: int | None = None

    def on_access(self, emitter, access, mask: str) -> None:
        if access.site.action != "atomic":
            return
        slot, text = self.slot(4), emitter.text
        self.sites.append((slot, access))
        if self.buckets is None:
            self.buckets = self.slot(BUCKETS)
        emitter.memory.spill_addresses(access)
        at, buckets = (text.define(f"getelementptr i64, ptr %counters, i64 {start}") for start in (slot, self.buckets))
        crowding = "null" if access.space == "shared" else buckets
        text.emit(f"call void @simt_count_atomic(ptr {at}, ptr %addresses, i32 {mask}, ptr {crowding}, i1 {combined(access)})")

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, access in self.sites:
            space = names.ATOMICS_SHARED if access.space == "shared" else names.ATOMICS_GLOBAL
            readings = (space, names.ATOMIC_LANES, names.ATOMIC_ADDRESSES, names.ATOMIC_PASSES)
            for name, value in zip(readings, values[slot:slot + 4], strict=True):
                yield access.site.node.source, name, value
        if self.buckets is not None:
            for k, value in enumerate(values[self.buckets:self.buckets + BUCKETS]):
                yield None, names.part_of_most(names.ATOMIC_HOTTEST, k), value


def combined(access) -> int:
    """1 where the machine code makes one update of a warp's request."""
    form = access.site.node.form
    whole = form.type[0] in "sub" and not COMBINED.isdisjoint(form.parts)
    return int(whole and access.shape.bases == 1 and access.shape.flat)
