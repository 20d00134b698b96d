"""Counts branches at which a warp parted: some lanes went one way, some the other."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots


class Branches(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, object]] = []

    def on_divergent_branch(self, emitter, node, taken: str, rest: str) -> None:
        slot, text = self.slot(), emitter.text
        self.sites.append((slot, node))
        ways = [text.define(f"icmp ne i32 {mask}, 0") for mask in (taken, rest)]
        self.add(emitter, slot, text.define(f"zext i1 {text.define(f'and i1 {ways[0]}, {ways[1]}')} to i64"))

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, node in self.sites:
            yield node.source, names.DIVERGENT_BRANCHES, values[slot]
