"""Values of a whole warp: a scalar or two with constant lane offsets, or two vectors of 16 lanes."""
from __future__ import annotations

import dataclasses

from simt.ir.shapes import SEGMENT, UNIFORM, VARYING, WARP, Shape
from simt.jit.builder import Builder, Text, Value

SEGMENTS = WARP // SEGMENT


@dataclasses.dataclass(frozen=True, slots=True)
class Lanes:
    """``parts`` are the bases of a shaped value, or one vector per half warp of a varying one; all of lane type ``type``.

    A varying predicate may be held as ``bits`` instead: the text of an i32 with a bit per lane, and no parts.
    """

    type: str
    shape: Shape
    parts: tuple[Value, ...]
    bits: str | None = None


class LaneBuilder:
    """Operations on Lanes; each chooses scalars where the shape allows."""

    def __init__(self, text: Text):
        self.text = text
        self.scalar = Builder(text, 1)
        self.vector = Builder(text, SEGMENT)

    def uniform(self, value: Value) -> Lanes:
        return Lanes(value.type, UNIFORM, (value,))

    def constant(self, lane_type: str, number: int | float) -> Lanes:
        return self.uniform(self.scalar.const(lane_type, number))

    def varying(self, parts: list[Value] | tuple[Value, ...]) -> Lanes:
        return Lanes(parts[0].type, VARYING, tuple(parts))

    def predicate(self, bits: str) -> Lanes:
        """A varying predicate from an i32 with a bit per lane."""
        return Lanes("i1", VARYING, (), bits)

    def convert(self, lanes: Lanes, shape: Shape) -> Lanes:
        """The same value in a less precise shape."""
        if lanes.shape == shape:
            return lanes
        if shape.bases == 0:
            return self.predicate(self.mask_bits(lanes)) if lanes.type == "i1" else self.varying(self.vectors(lanes))
        if shape.bases == 2 and lanes.shape.bases == 1:
            return Lanes(lanes.type, lanes.shape.segmented(), self.bases(lanes, 2))
        if lanes.shape.bases == 2 and shape.bases == 1:     # numbers known by thread form a pattern that their parts did not
            return Lanes(lanes.type, shape, lanes.parts[:1])
        if lanes.shape.bases == shape.bases:        # offsets that differ only in lanes that do not exist
            return Lanes(lanes.type, shape, lanes.parts)
        raise AssertionError(f"cannot make {shape} of {lanes.shape}")

    def bases(self, lanes: Lanes, count: int) -> tuple[Value, ...]:
        """The scalars of a shaped value, one per segment if ``count`` is 2."""
        if lanes.shape.bases == count:
            return lanes.parts
        first = lanes.parts[0]
        offset = lanes.shape.offsets[SEGMENT]
        if not offset:
            return (first, first)
        return first, self.scalar.binary("add", first, self.scalar.const(lanes.type, offset))

    def vectors(self, lanes: Lanes) -> tuple[Value, ...]:
        """One vector per half warp."""
        if lanes.shape.bases == 0:
            return lanes.parts or self.mask_vectors(lanes.bits)
        if lanes.shape.bases == 1 and not lanes.shape.offsets[SEGMENT]:
            whole = self.spread(lanes.parts[0])
            splats = (whole, whole)
        elif lanes.shape.bases == 1:
            whole = self.spread(lanes.parts[0])
            return tuple(self.shifted(whole, lanes.shape.offsets[k * SEGMENT:(k + 1) * SEGMENT]) for k in range(SEGMENTS))
        else:
            splats = tuple(self.spread(base) for base in lanes.parts)
        return tuple(self.shifted(splat, lanes.shape.offsets[k * SEGMENT:(k + 1) * SEGMENT])
                     for k, splat in enumerate(splats))

    def spread(self, value: Value) -> Value:
        """A scalar in every lane of a vector."""
        if not value.text.startswith("%"):
            return Value(value.type, f"splat ({value.type} {value.text})" if value.text != "poison" else "poison")
        full = self.vector.full(value.type)
        one = self.text.define(f"insertelement {full} poison, {value.type} {value.text}, i32 0")
        return Value(value.type, self.text.define(
            f"shufflevector {full} {one}, {full} poison, <{SEGMENT} x i32> zeroinitializer"))

    def shifted(self, vector: Value, offsets: tuple[int, ...]) -> Value:
        if not any(offsets):
            return vector
        return self.vector.binary("add", vector, self.constants(vector.type, offsets))

    def constants(self, lane_type: str, numbers: tuple[int, ...]) -> Value:
        """A constant vector."""
        if len(set(numbers)) == 1:
            return Value(lane_type, f"splat ({lane_type} {self.scalar.const(lane_type, numbers[0]).text})")
        inner = ", ".join(f"{lane_type} {self.scalar.const(lane_type, n).text}" for n in numbers)
        return Value(lane_type, f"<{inner}>")

    def apply(self, function, operands: list[Lanes], shape: Shape | None = None) -> list[Lanes]:
        """Run ``function(builder, *lane values)`` on scalars where all operands are shaped alike, else on vectors.

        shape: of the results, from the analysis; without it, flat operands give a flat result and others a varying one.
        Returns one Lanes per result.
        """
        flat = all(o.shape.flat for o in operands)
        if shape is None or (shape.bases == 0 and flat):
            shape = Shape(max((o.shape.bases for o in operands), default=1)) if flat else VARYING
        count = max([shape.bases, *(o.shape.bases for o in operands)]) if shape.bases else 0
        if count:
            rows = [self.bases(o, count) for o in operands]
            shape = shape.segmented() if count == 2 else shape
            results = [as_tuple(function(self.scalar, *(row[k] for row in rows))) for k in range(count)]
        else:
            rows = [self.vectors(o) for o in operands]
            results = [as_tuple(function(self.vector, *(row[k] for row in rows))) for k in range(SEGMENTS)]
        return [Lanes(parts[0].type, shape, tuple(parts)) for parts in zip(*results, strict=True)]

    # masks: an i32 with a bit per lane, or one <16 x i1> per half warp

    def mask_vectors(self, mask: str) -> tuple[Value, ...]:
        parts = []
        for k in range(SEGMENTS):
            shifted = mask if k == 0 else self.text.define(f"lshr i32 {mask}, {k * SEGMENT}")
            half = self.text.define(f"trunc i32 {shifted} to i{SEGMENT}")
            parts.append(Value("i1", self.text.define(f"bitcast i{SEGMENT} {half} to <{SEGMENT} x i1>")))
        return tuple(parts)

    def mask_bits(self, lanes: Lanes) -> str:
        """A predicate as an i32 with a bit per lane."""
        if lanes.bits is not None:
            return lanes.bits
        if lanes.shape == UNIFORM:
            return self.text.define(f"sext i1 {lanes.parts[0].text} to i32")
        whole = None
        for k, part in enumerate(self.vectors(lanes)):
            half = self.text.define(f"bitcast <{SEGMENT} x i1> {self.vector.ref(part)} to i{SEGMENT}")
            wide = self.text.define(f"zext i{SEGMENT} {half} to i32")
            wide = self.text.define(f"shl i32 {wide}, {k * SEGMENT}") if k else wide
            whole = wide if whole is None else self.text.define(f"or i32 {whole}, {wide}")
        return whole

    def whole_warp(self, lanes: Lanes) -> str:
        """All 32 lanes as one vector; the text of a <32 x type>."""
        low, high = (self.vector.typed(part) for part in self.vectors(lanes))
        index = ", ".join(f"i32 {lane}" for lane in range(WARP))
        return self.text.define(f"shufflevector {low}, {high}, <{WARP} x i32> <{index}>")

    def halves(self, lane_type: str, whole: str) -> Lanes:
        parts = []
        for k in range(SEGMENTS):
            index = ", ".join(f"i32 {k * SEGMENT + lane}" for lane in range(SEGMENT))
            full = f"<{WARP} x {lane_type}>"
            parts.append(Value(lane_type, self.text.define(
                f"shufflevector {full} {whole}, {full} poison, <{SEGMENT} x i32> <{index}>")))
        return self.varying(parts)


def as_tuple(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)
