"""Finds barriers and shuffles that work here and are wrong all the same.

- a barrier that some threads of the block never reach, since they have ended: legal from compute capability 7.0 on, where
  the others do not wait for them, but an early return before a barrier is a mistake that shows elsewhere;
- a barrier in code that lanes of one warp come to apart;
- a shuffle that takes a value from a lane that does not take part: the value is undefined.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simt.ir.shapes import VARYING, WARP
from simt.jit.builder import Value
from simt.observe.checker import Actor, Checker, Hazard
from simt.observe.observer import Slots

COUNT, BLOCK, LANE, LANES, FIELDS = 0, 1, 2, 3, 4


def takes_no_part(b, mask: Value, lane: Value) -> Value:
    """i1: the lane's bit is not in the mask."""
    return b.compare("icmp eq", b.binary("and", b.binary("lshr", mask, lane), b.const("i32", 1)), b.const("i32", 0))


class Synchronisation(Checker):
    NAME = "sync"

    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.sites: list[tuple[int, str, object]] = []      # (slot, case, node)

    def note(self, emitter, what: str, node, lanes: str) -> None:
        """Count the case where ``lanes`` (i32) is not empty, and keep who was the first."""
        text, slot = emitter.text, self.slot(FIELDS)
        self.sites.append((slot, what, node))
        some, first, counted, end = (text.fresh_label(stem) for stem in ("finding", "first", "counted", "sound"))
        text.emit(f"br i1 {text.define(f'icmp ne i32 {lanes}, 0')}, label %{some}, label %{end}")
        text.label(some)
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot + COUNT}")
        seen = text.define(f"load i64, ptr {at}")
        text.emit(f"br i1 {text.define(f'icmp eq i64 {seen}, 0')}, label %{first}, label %{counted}")
        text.label(first)
        start = text.define(f"mul i32 %warp, {WARP}")
        for field, value in ((BLOCK, emitter.context.load("block")), (LANES, self.wide(emitter, lanes)),
                             (LANE, self.wide(emitter, start))):
            to = text.define(f"getelementptr i64, ptr %counters, i64 {slot + field}")
            text.emit(f"store i64 {value}, ptr {to}")
        text.emit(f"br label %{counted}")
        text.label(counted)
        text.emit(f"store i64 {text.define(f'add i64 {seen}, 1')}, ptr {at}")
        text.emit(f"br label %{end}")
        text.label(end)

    def on_park(self, emitter, node, earlier: str) -> None:
        self.note(emitter, "apart", node, earlier)

    def on_release(self, emitter, node, mask: str) -> None:
        """Lanes go on after a barrier: had threads of the block ended before?"""
        text = emitter.text
        born = self.born(emitter)
        gone = text.define(f"and i32 {born}, {text.define(f'xor i32 {mask}, -1')}")
        self.note(emitter, "ended", node, gone)
        others = text.define(f"trunc i64 {emitter.context.load('ended_warps')} to i32")
        self.note(emitter, "ended warps", node, others)

    @staticmethod
    def born(emitter) -> str:
        """i32: the lanes with which this warp began."""
        rest = emitter.kernel.threads % WARP
        if not rest:
            return "-1"
        last = emitter.text.define(f"icmp eq i32 %warp, {emitter.kernel.threads // WARP}")
        return emitter.text.define(f"select i1 {last}, i32 {(1 << rest) - 1}, i32 -1")

    def on_shuffle(self, emitter, node, mask: str, source) -> None:
        """source: for each lane the lane that it reads (itself where it reads none)."""
        lanes = emitter.lanes
        whole = lanes.uniform(Value("i32", mask))
        idle = lanes.apply(takes_no_part, [whole, source], VARYING)[0]
        self.note(emitter, "idle source", node, emitter.text.define(f"and i32 {mask}, {lanes.mask_bits(idle)}"))

    def hazards(self, state: np.ndarray | None, values: list[int]) -> Iterator[Hazard]:
        for slot, what, node in self.sites:
            count, block, lane, lanes = values[slot:slot + FIELDS]
            if count:
                yield Hazard("sync", what, (Actor(block, lane, -1),), count, lanes=lanes, node=node)
