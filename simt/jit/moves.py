"""Loads and stores of a whole warp whose addresses have been checked: no masks, wide vectors where lanes lie together."""
from __future__ import annotations

from simt.ir.shapes import SEGMENT, UNIFORM, WARP
from simt.jit.access import Access
from simt.jit.builder import Value
from simt.jit.lanes import SEGMENTS, Lanes

SPAN_LIMIT = 128            # elements: the widest vector that one covering load may take


class Moves:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes

    def pointers(self, access: Access) -> tuple[Value, ...]:
        """Host pointers (i64) of the bases, the operand's offset included."""
        builder = self.builder(access)
        hosts = access.hosts or self.hosts(access)
        return tuple(builder.binary("add", host, builder.const("i64", access.offset)) if access.offset else host
                     for host in hosts)

    def hosts(self, access: Access) -> tuple[Value, ...]:
        """Host pointers of the bases."""
        start = {"shared": "%field.shared_base", "local": "%field.local_base"}.get(access.site.space)
        if not start:
            return access.base.parts
        origin = Value("i64", self.text.define(f"ptrtoint ptr {start} to i64"))
        if access.site.space == "local":
            origin = self.frame(origin)
        origin = origin if access.shape.bases else self.lanes.spread(origin)
        return tuple(self.builder(access).binary("add", base, origin) for base in access.base.parts)

    def builder(self, access: Access):
        return self.lanes.scalar if access.shape.bases else self.lanes.vector

    def frame(self, origin: Value) -> Value:
        """Local memory of lane 0 of this warp; lanes follow each other, a frame each."""
        size = self.emitter.layout.local_bytes * WARP
        warp = self.text.define("zext i32 %warp to i64")
        return Value("i64", self.text.define(f"add i64 {origin.text}, {self.text.define(f'mul i64 {warp}, {size}')}"))

    def lane_offsets(self, access: Access) -> tuple[int, ...]:
        """Byte offset of each lane from its base's pointer."""
        frame = self.emitter.layout.local_bytes if access.site.space == "local" else 0
        return tuple(offset + lane * frame for lane, offset in enumerate(access.shape.offsets))

    def segments(self, access: Access) -> list[tuple[Value, tuple[int, ...]]]:
        """(pointer, lane offsets) of each half warp of a shaped address."""
        pointers = self.pointers(access)
        offsets = self.lane_offsets(access)
        chosen = pointers if len(pointers) == SEGMENTS else pointers * SEGMENTS
        return [(chosen[k], offsets[k * SEGMENT:(k + 1) * SEGMENT]) for k in range(SEGMENTS)]

    def load(self, access: Access, lane_type: str) -> list[Lanes]:
        elements, size = access.site.elements, access.site.element_bytes
        if access.shape.bases and access.shape.flat and access.site.space != "local":
            pointers = self.pointers(access)
            return [Lanes(lane_type, access.shape, tuple(self.scalar(p, e * size, lane_type) for p in pointers))
                    for e in range(elements)]
        if access.shape.bases:
            halves = [self.load_pattern(pointer, offsets, access, lane_type) for pointer, offsets in self.segments(access)]
            return [self.lanes.varying(parts) for parts in zip(*halves, strict=True)]
        return self.gather(access, lane_type)

    def scalar(self, pointer: Value, offset: int, lane_type: str) -> Value:
        at = self.text.define(f"inttoptr i64 {pointer.text} to ptr")
        if offset:
            at = self.text.define(f"getelementptr i8, ptr {at}, i64 {offset}")
        return Value(lane_type, self.text.define(f"load {lane_type}, ptr {at}"))

    def load_pattern(self, pointer: Value, offsets: tuple[int, ...], access: Access, lane_type: str) -> list[Value]:
        """Constant offsets: one load that covers them all and a shuffle, or a gather where they lie far apart."""
        elements, size = access.site.elements, access.site.element_bytes
        low = min(offsets)
        count = (max(offsets) - low) // size + elements
        at = self.text.define(f"inttoptr i64 {pointer.text} to ptr")
        if count > SPAN_LIMIT or any((offset - low) % size for offset in offsets):
            return [self.gather_constant(at, tuple(o + e * size for o in offsets), lane_type) for e in range(elements)]
        start = self.text.define(f"getelementptr i8, ptr {at}, i64 {low}") if low else at
        whole = self.text.define(f"load <{count} x {lane_type}>, ptr {start}, align {size}")
        found = []
        for element in range(elements):
            index = [(offset - low) // size + element for offset in offsets]
            found.append(Value(lane_type, self.shuffle(whole, count, lane_type, index)))
        return found

    def shuffle(self, whole: str, count: int, lane_type: str, index: list[int]) -> str:
        if index == list(range(count)):
            return whole
        full = f"<{count} x {lane_type}>"
        lanes = ", ".join(f"i32 {i}" for i in index)
        return self.text.define(f"shufflevector {full} {whole}, {full} poison, <{len(index)} x i32> <{lanes}>")

    def gather_constant(self, at: str, offsets: tuple[int, ...], lane_type: str) -> Value:
        where = self.text.define(f"getelementptr i8, ptr {at}, {self.lanes.vector.typed(self.lanes.constants('i64', offsets))}")
        return self.gather_from(where, lane_type)

    def gather_from(self, pointers: str, lane_type: str) -> Value:
        vector = self.lanes.vector
        full = vector.full(lane_type)
        name = self.text.declare(f"llvm.masked.gather.{vector.suffix(lane_type)}.v{SEGMENT}p0", full,
                                 (f"<{SEGMENT} x ptr>", f"<{SEGMENT} x i1>", full))
        return Value(lane_type, self.text.define(
            f"call {full} {name}(<{SEGMENT} x ptr> {pointers}, <{SEGMENT} x i1> splat (i1 true), {full} poison)"))

    def gather(self, access: Access, lane_type: str) -> list[Lanes]:
        """Vector addresses, all of them checked."""
        pointers = self.host_vectors(access)
        found = []
        for element in range(access.site.elements):
            parts = []
            for pointer in pointers:
                if element:
                    pointer = self.lanes.vector.binary("add", pointer, self.lanes.vector.const(
                        "i64", element * access.site.element_bytes))
                where = self.text.define(f"inttoptr {self.lanes.vector.typed(pointer)} to <{SEGMENT} x ptr>")
                parts.append(self.gather_from(where, lane_type))
            found.append(self.lanes.varying(parts))
        return found

    def host_vectors(self, access: Access) -> tuple[Value, ...]:
        """Host addresses per lane."""
        if access.site.space != "local":
            return self.pointers(access)
        frame = self.emitter.layout.local_bytes
        return tuple(self.lanes.shifted(part, tuple(lane * frame for lane in range(k * SEGMENT, (k + 1) * SEGMENT)))
                     for k, part in enumerate(self.pointers(access)))

    def store(self, access: Access, values: list[Lanes], lane_type: str) -> None:
        size = access.site.element_bytes
        if access.shape == UNIFORM and all(v.shape == UNIFORM for v in values) and access.site.space != "local":
            pointer = self.pointers(access)[0]
            for element, value in enumerate(values):
                at = self.text.define(f"inttoptr i64 {pointer.text} to ptr")
                at = self.text.define(f"getelementptr i8, ptr {at}, i64 {element * size}")
                self.text.emit(f"store {lane_type} {value.parts[0].text}, ptr {at}")
            return
        vectors = [self.lanes.vectors(value) for value in values]
        if access.shape.bases:
            for k, (pointer, offsets) in enumerate(self.segments(access)):
                self.store_pattern(pointer, offsets, [v[k] for v in vectors], access, lane_type)
            return
        for k, pointer in enumerate(self.host_vectors(access)):
            for element, value in enumerate(vectors):
                there = pointer if not element else self.lanes.vector.binary(
                    "add", pointer, self.lanes.vector.const("i64", element * size))
                where = self.text.define(f"inttoptr {self.lanes.vector.typed(there)} to <{SEGMENT} x ptr>")
                self.scatter(where, value[k], lane_type)

    def store_pattern(self, pointer: Value, offsets: tuple[int, ...], values: list[Value], access: Access,
                      lane_type: str) -> None:
        elements, size = access.site.elements, access.site.element_bytes
        at = self.text.define(f"inttoptr i64 {pointer.text} to ptr")
        if all(offset == offsets[0] + lane * size * elements for lane, offset in enumerate(offsets)):
            start = self.text.define(f"getelementptr i8, ptr {at}, i64 {offsets[0]}")
            whole, count = self.interleave(values, lane_type)
            self.text.emit(f"store <{count} x {lane_type}> {whole}, ptr {start}, align {size}")
            return
        for element, value in enumerate(values):
            constants = self.lanes.constants("i64", tuple(o + element * size for o in offsets))
            where = self.text.define(f"getelementptr i8, ptr {at}, {self.lanes.vector.typed(constants)}")
            self.scatter(where, value, lane_type)

    def interleave(self, values: list[Value], lane_type: str) -> tuple[str, int]:
        """Vectors of element 0, 1, … -> one vector with each lane's elements side by side."""
        texts, width = [self.lanes.vector.ref(v) for v in values], SEGMENT
        if len(texts) == 1:
            return texts[0], SEGMENT
        while len(texts) > 1:
            index = ", ".join(f"i32 {i}" for i in range(2 * width))
            full = f"<{width} x {lane_type}>"
            texts = [self.text.define(f"shufflevector {full} {x}, {full} {y}, <{2 * width} x i32> <{index}>")
                     for x, y in zip(texts[::2], texts[1::2], strict=True)]
            width *= 2
        order = [element * SEGMENT + lane for lane in range(SEGMENT) for element in range(len(values))]
        return self.shuffle(texts[0], width, lane_type, order), width

    def scatter(self, pointers: str, value: Value, lane_type: str) -> None:
        vector = self.lanes.vector
        full = vector.full(lane_type)
        name = self.text.declare(f"llvm.masked.scatter.{vector.suffix(lane_type)}.v{SEGMENT}p0", "void",
                                 (full, f"<{SEGMENT} x ptr>", f"<{SEGMENT} x i1>"))
        self.text.emit(f"call void {name}({vector.typed(value)}, <{SEGMENT} x ptr> {pointers}, "
                       f"<{SEGMENT} x i1> splat (i1 true))")
