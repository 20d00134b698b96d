"""Special registers (PTX ISA, chapter "Special Registers") as warp values."""
from __future__ import annotations

from simt.ir.divergence import special_shape
from simt.ir.known import thread_index
from simt.ir.shapes import SEGMENT, WARP
from simt.isa.table import Unsupported
from simt.jit.builder import Value
from simt.jit.lanes import Lanes


class SpecialRegisters:
    def __init__(self, emitter):
        self.emitter = emitter
        self.tables: dict[str, str] = {}        # constant tables of thread indices, one per axis in use

    def read(self, name: str) -> Lanes:
        """A special register; raises Unsupported for one that the emulated device does not have."""
        stem, _, axis = name[1:].partition(".")
        if stem == "tid":
            return self.thread(axis)
        if stem in MASKS:
            return self.lane_mask(MASKS[stem])
        if stem in CLOCKS:
            return self.clock(stem)
        value = self.scalar(stem, axis)
        if value is None:
            raise Unsupported(f"the special register {name}")
        if stem == "laneid":
            return Lanes("i32", special_shape(name, self.emitter.kernel.block_shape), (value,))
        return self.emitter.lanes.uniform(value)

    def scalar(self, stem: str, axis: str) -> Value | None:
        """The first lane's value of a register that is alike in all lanes but for a constant."""
        kernel = self.emitter.kernel
        fixed = {"ntid": lambda: kernel.block_shape["xyz".index(axis)], "laneid": lambda: 0, "warpid": lambda: "%warp",
                 "nwarpid": lambda: -(-kernel.threads // WARP)}
        if stem in fixed:
            return Value("i32", str(fixed[stem]()))
        if stem in ("ctaid", "nctaid"):
            return self.field(f"{stem}_{axis}")
        if stem in ("dynamic_smem_size", "total_smem_size"):
            return self.field({"d": "dynamic_shared_bytes", "t": "shared_bytes"}[stem[0]])
        return Value("i64", self.emitter.context.load("grid_id")) if stem == "gridid" else None

    def field(self, name: str) -> Value:
        """A field of the context as i32."""
        return Value("i32", self.emitter.text.define(f"trunc i64 {self.emitter.context.load(name)} to i32"))

    def lane_mask(self, bits) -> Lanes:
        numbers = [bits(lane) for lane in range(WARP)]
        lanes = self.emitter.lanes
        return lanes.varying([lanes.constants("i32", tuple(numbers[k:k + SEGMENT])) for k in range(0, WARP, SEGMENT)])

    def thread(self, axis: str) -> Lanes:
        """tid from a constant table: a base per warp or half warp, or a vector where the lanes have no fixed pattern."""
        kernel, text = self.emitter.kernel, self.emitter.text
        shape = special_shape(f"%tid.{axis}", kernel.block_shape)
        self.tables[axis] = "@tid_" + axis
        first = text.define("shl i32 %warp, 5")
        parts = []
        for k in range(max(shape.bases, 1) if shape.bases else WARP // SEGMENT):
            index = text.define(f"add i32 {first}, {k * SEGMENT}")
            at = text.define(f"getelementptr i32, ptr @tid_{axis}, i32 {index}")
            kind = "i32" if shape.bases else f"<{SEGMENT} x i32>"
            parts.append(Value("i32", text.define(f"load {kind}, ptr {at}, align 4")))
        return Lanes("i32", shape, tuple(parts))

    def clock(self, stem: str) -> Lanes:
        """A counter that only ever rises; its unit is a call, not a cycle: the emulated device has no cycles to show."""
        text = self.emitter.text
        at = self.emitter.context.pointer("clock")
        now = text.define(f"load i64, ptr {at}")
        text.emit(f"store i64 {text.define(f'add i64 {now}, 1')}, ptr {at}")
        if stem in ("clock64", "globaltimer"):
            return self.emitter.lanes.uniform(Value("i64", now))
        if stem.endswith("_hi"):
            now = text.define(f"lshr i64 {now}, 32")
        return self.emitter.lanes.uniform(Value("i32", text.define(f"trunc i64 {now} to i32")))

    def global_text(self) -> list[str]:
        kernel = self.emitter.kernel
        count = -(-kernel.threads // WARP) * WARP
        lines = []
        for axis, symbol in self.tables.items():
            numbers = ", ".join(f"i32 {thread_index(kernel.block_shape, axis, linear)}" for linear in range(count))
            lines.append(f"{symbol} = internal constant [{count} x i32] [{numbers}], align 64")
        return lines


MASKS = {
    "lanemask_eq": lambda lane: 1 << lane, "lanemask_lt": lambda lane: (1 << lane) - 1,
    "lanemask_le": lambda lane: (2 << lane) - 1, "lanemask_gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
    "lanemask_ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
}
CLOCKS = frozenset({"clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"})
