"""Keeps the addresses of one warp at each memory access: what an access map shows, and where distances between lanes come from.

The warp is the first to come to the access in the block that the launch chose.
"""
from __future__ import annotations

from simt.ir.shapes import WARP
from simt.observe.observer import Observer, Slots
from simt.observe.profile import AccessSample

TAKEN = 1 << 32             # beside the mask, so that a sample of no lanes is one too


class Samples(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space not in ("global", "shared", "local"):
            return
        slot, text = self.slot(1 + WARP), emitter.text
        self.sites.append((slot, access))
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot}")
        chosen = text.define(f"icmp eq i64 {emitter.context.load('block')}, {emitter.context.load('sample_block')}")
        free = text.define(f"icmp eq i64 {text.define(f'load i64, ptr {at}')}, 0")
        some = text.define(f"icmp ne i32 {mask}, 0")
        wanted = text.define(f"and i1 {chosen}, {text.define(f'and i1 {free}, {some}')}")
        keep, end = text.fresh_label("keep"), text.fresh_label("kept")
        text.emit(f"br i1 {wanted}, label %{keep}, label %{end}")
        text.label(keep)
        emitter.memory.spill_addresses(access)
        text.emit(f"store i64 {text.define(f'or i64 {self.wide(emitter, mask)}, {TAKEN}')}, ptr {at}")
        whole = text.define(f"load <{WARP} x i64>, ptr %addresses, align 64")
        first = text.define(f"getelementptr i64, ptr {at}, i64 1")
        text.emit(f"store <{WARP} x i64> {whole}, ptr {first}, align 8")
        text.emit(f"br label %{end}")
        text.label(end)

    def samples(self, values: list[int]) -> list[AccessSample]:
        """Those that were taken, in the order of the code."""
        found = []
        for slot, access in self.sites:
            if values[slot]:
                source, site = access.site.node.source, access.site
                place = (source.file, source.line) if source else ("", 0)
                found.append(AccessSample(*place, access.space, site.action, site.bytes, values[slot] & (TAKEN - 1),
                                          tuple(values[slot + 1:slot + 1 + WARP])))
        return found
