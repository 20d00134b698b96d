"""Predicates of a warp as 32 bits: comparisons, and the logic on them.

A comparison of a scalar plus lane constants with a scalar is mostly the same for all lanes; the two extreme lanes tell.
"""
from __future__ import annotations

from simt.ir.blocks import Node
from simt.ir.shapes import UNIFORM
from simt.jit.builder import IR_BITS, Value
from simt.jit.lanes import Lanes

LOGIC = {"and": "and", "or": "or", "xor": "xor", "not": "xor", "mov": "or"}
ORDERED = {"lt": ("slt", "ult"), "le": ("sle", "ule"), "gt": ("sgt", "ugt"), "ge": ("sge", "uge"),
           "lo": ("ult", "ult"), "ls": ("ule", "ule"), "hi": ("ugt", "ugt"), "hs": ("uge", "uge")}


class Predicates:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes

    def lower(self, node: Node, operands: list[Lanes]) -> Lanes | None:
        """The node's one result as bits, if that is the cheaper way; None to lower it by its row."""
        if node.guard or len(node.results) != 1 or self.emitter.shape_of(node.results[0]).bases:
            return None
        if node.base in LOGIC and node.form.type == "pred" and any(not o.shape.bases for o in operands):
            return self.logic(node.base, operands)
        if node.base == "setp" and len(node.form.parts) == 3 and self.extremes_tell(node, operands):
            return self.compare_extremes(node, *operands)
        return None

    def logic(self, base: str, operands: list[Lanes]) -> Lanes:
        bits = [self.lanes.mask_bits(operand) for operand in operands]
        second = bits[1] if len(bits) > 1 else ("-1" if base == "not" else "0")
        return self.lanes.predicate(self.text.define(f"{LOGIC[base]} i32 {bits[0]}, {second}"))

    def inverse(self, value: Lanes) -> Lanes:
        if value.shape.bases:
            return self.lanes.apply(lambda b, x: b.binary("xor", x, b.const("i1", 1)), [value])[0]
        return self.logic("not", [value])

    @staticmethod
    def extremes_tell(node: Node, operands: list[Lanes]) -> bool:
        x, y = operands
        return node.form.parts[1] in ORDERED and node.form.type[0] in "su" and x.shape.bases == 1 and not x.shape.flat \
            and y.shape == UNIFORM

    def compare_extremes(self, node: Node, x: Lanes, y: Lanes) -> Lanes:
        """All lanes if the least likely lane passes, none if the likeliest fails, else lane by lane.

        Only where adding the offsets does not wrap, which the order of the extreme lanes shows.
        """
        signed = node.form.type[0] == "s"
        relation = ORDERED[node.form.parts[1]][0 if signed else 1]
        low, high = (self.at(x, pick(x.shape.offsets)) for pick in (min, max))
        hard, easy = (high, low) if relation[1] == "l" else (low, high)
        every, some = (self.relate(relation, one, y.parts[0]) for one in (hard, easy))
        straight = self.relate("sle" if signed else "ule", low, high)
        every = self.text.define(f"and i1 {straight}, {every}")
        mixed = self.text.define(f"xor i1 {straight}, true")
        mixed = self.text.define(f"or i1 {mixed}, {some}")
        start, middle, lanewise, end = (self.text.fresh_label(stem) for stem in ("compare", "some", "each", "compared"))
        self.text.emit(f"br label %{start}")
        self.text.label(start)
        self.text.emit(f"br i1 {every}, label %{end}, label %{middle}")
        self.text.label(middle)
        self.text.emit(f"br i1 {mixed}, label %{lanewise}, label %{end}")
        self.text.label(lanewise)
        parts = self.lanes.apply(lambda b, p, q: b.compare(f"icmp {relation}", p, q), [x, y])[0]
        bits = self.lanes.mask_bits(parts)
        self.text.emit(f"br label %{end}")
        self.text.label(end)
        return self.lanes.predicate(self.text.define(
            f"phi i32 [ -1, %{start} ], [ 0, %{middle} ], [ {bits}, %{lanewise} ]"))

    def at(self, x: Lanes, offset: int) -> Value:
        base = x.parts[0]
        return self.lanes.scalar.binary("add", base, self.lanes.scalar.const(base.type, offset)) if offset else base

    def relate(self, relation: str, x: Value, y: Value) -> str:
        return self.text.define(f"icmp {relation} i{IR_BITS[x.type]} {x.text}, {y.text}")
