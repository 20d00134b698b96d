"""SSA values of the function being written: in the block that makes them as text, across blocks in stack slots.

LLVM turns the slots into registers; what is alive across a barrier is saved with the warp (simt/jit/suspend.py).
"""
from __future__ import annotations

import dataclasses

from simt.ir.program import Kernel
from simt.ir.shapes import SEGMENT, WARP, Shape
from simt.jit.builder import IR_TYPE, Value
from simt.jit.lanes import Lanes
from simt.jit.literals import zero


@dataclasses.dataclass(slots=True)
class Slot:
    """Stack slots of a value that crosses blocks: one per base, one per half warp, or one mask for a varying predicate."""

    name: str
    type: str
    shape: Shape

    @property
    def is_mask(self) -> bool:
        return self.type == "i1" and not self.shape.bases


class Values:
    """read and write by SSA name. ``cached``: what the current block has read or written."""

    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes
        self.slots: dict[str, Slot] = {}
        self.cached: dict[str, Lanes] = {}
        self.crossing = crossing_values(emitter.kernel)

    def emit_prologue(self) -> None:
        for slot in self.slots.values():
            for k, full in enumerate(self.slot_types(slot)):
                self.text.emit(f"{slot.name}.{k} = alloca {full}")

    def read(self, name: str) -> Lanes:
        if name in self.cached:
            return self.cached[name]
        lane_type = IR_TYPE[self.emitter.kernel.register_type(name)]
        if name not in self.emitter.kernel.values.block:          # read before any write: unspecified, zero here
            return self.lanes.uniform(zero(lane_type))
        slot = self.slot(name)
        texts = [self.text.define(f"load {full}, ptr {slot.name}.{k}") for k, full in enumerate(self.slot_types(slot))]
        if slot.is_mask:
            self.cached[name] = self.lanes.predicate(texts[0])
        else:
            self.cached[name] = Lanes(slot.type, slot.shape, tuple(Value(slot.type, text) for text in texts))
        return self.cached[name]

    def write(self, name: str, value: Lanes, mask: str | None = None) -> None:
        """Set a value. A temporally divergent one keeps what other lanes than the running ones hold; ``mask`` (an i32) does
        the same for a phi."""
        shape = self.emitter.shape_of(name)
        value = self.lanes.convert(value, shape)
        if name in self.emitter.kernel.shapes.masked and mask is None:
            mask = self.emitter.mask
        if name in self.crossing:
            slot = self.slot(name)
            if shape.bases == 0 and mask is not None:
                value = self.blend(slot, value, mask)
            self.store_slot(slot, value)
        self.cached[name] = value

    def store_slot(self, slot: Slot, value: Lanes) -> None:
        if slot.is_mask:
            self.text.emit(f"store i32 {self.lanes.mask_bits(value)}, ptr {slot.name}.0")
            return
        builder = self.lanes.scalar if slot.shape.bases else self.lanes.vector
        for k, (part, full) in enumerate(zip(value.parts, self.slot_types(slot), strict=True)):
            self.text.emit(f"store {full} {builder.ref(part)}, ptr {slot.name}.{k}")

    def blend(self, slot: Slot, value: Lanes, mask: str) -> Lanes:
        """The new value in the lanes of the mask, what the slot holds in the others; mostly all lanes run, so ask first."""
        if slot.is_mask:
            old = self.text.define(f"load i32, ptr {slot.name}.0")
            old = self.text.define(f"freeze i32 {old}")         # undefined before the first write: both uses must agree
            changed = self.text.define(f"xor i32 {old}, {self.lanes.mask_bits(value)}")
            changed = self.text.define(f"and i32 {changed}, {mask}")
            return self.lanes.predicate(self.text.define(f"xor i32 {old}, {changed}"))
        start, some, end = (self.text.fresh_label(stem) for stem in ("blend", "some", "blended"))
        whole = self.text.define(f"icmp eq i32 {mask}, -1")
        self.text.emit(f"br label %{start}")
        self.text.label(start)
        self.text.emit(f"br i1 {whole}, label %{end}, label %{some}")
        self.text.label(some)
        chosen = []
        for k, (full, part, lanes) in enumerate(zip(self.slot_types(slot), value.parts, self.lanes.mask_vectors(mask),
                                                    strict=True)):
            old = Value(slot.type, self.text.define(f"load {full}, ptr {slot.name}.{k}"))
            chosen.append(self.lanes.vector.select(lanes, part, old))
        self.text.emit(f"br label %{end}")
        self.text.label(end)
        parts = []
        for full, part, mixed in zip(self.slot_types(slot), value.parts, chosen, strict=True):
            new = self.lanes.vector.ref(part)
            parts.append(Value(slot.type, self.text.define(f"phi {full} [ {new}, %{start} ], [ {mixed.text}, %{some} ]")))
        return self.lanes.varying(parts)

    def slot(self, name: str) -> Slot:
        if name not in self.slots:
            lane_type = IR_TYPE[self.emitter.kernel.register_type(name)]
            plain = name[1:].replace("@", "..")     # the mark of a register's scope; a name of LLVM's has no @
            self.slots[name] = Slot("%s" + plain, lane_type, self.emitter.shape_of(name))
        return self.slots[name]

    @staticmethod
    def slot_types(slot: Slot) -> list[str]:
        if slot.is_mask:
            return ["i32"]
        if slot.shape.bases:
            return [slot.type] * slot.shape.bases
        return [f"<{SEGMENT} x {slot.type}>"] * (WARP // SEGMENT)


def crossing_values(kernel: Kernel) -> set[str]:
    """Values that need a stack slot: alive between blocks, phis, what phis take, and temporally divergent ones."""
    crossing = set(kernel.shapes.masked)
    for live in kernel.values.live_in.values():
        crossing |= live
    for block in kernel.order.blocks:
        for phi in block.phis:
            crossing.add(phi.result)
            crossing |= {name for source, name in phi.incoming.items()
                         if name and kernel.values.block.get(name) is not source}
    return crossing
