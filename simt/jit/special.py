"""Special registers (PTX ISA, chapter "Special Registers") as warp values."""
from __future__ import annotations

from collections.abc import Sequence

from simt.ir.divergence import special_shape
from simt.ir.known import thread_index
from simt.ir.shapes import SEGMENT, WARP, Shape
from simt.isa.table import Unsupported
from simt.jit.builder import IR_BITS, IR_TYPE, Value
from simt.jit.lanes import Lanes


class SpecialRegisters:
    def __init__(self, emitter):
        self.emitter = emitter
        self.tables: dict[str, tuple[str, Sequence[int]]] = {}      # constant tables by linear thread: lane type, numbers

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
        block_shape = self.emitter.kernel.block_shape
        threads = -(-self.emitter.kernel.threads // WARP) * WARP
        return self.by_thread(f"tid_{axis}", "i32", [thread_index(block_shape, axis, linear) for linear in range(threads)],
                              special_shape(f"%tid.{axis}", block_shape))

    def known(self, name: str) -> Lanes:
        """A register that depends on the thread's place in the block alone, from the numbers worked out while compiling."""
        kernel = self.emitter.kernel
        return self.by_thread("known_" + name[1:], IR_TYPE[kernel.register_type(name)], kernel.known.values[name],
                              self.emitter.shape_of(name))

    def by_thread(self, stem: str, lane_type: str, numbers: Sequence[int], shape: Shape) -> Lanes:
        """A constant table by linear thread: a base per warp or half warp, or a vector where lanes have no fixed pattern."""
        text = self.emitter.text
        symbol = f'@"{stem}"'
        self.tables[symbol] = (lane_type, numbers)
        first = text.define("shl i32 %warp, 5")
        parts = []
        for k in range(max(shape.bases, 1) if shape.bases else WARP // SEGMENT):
            index = text.define(f"add i32 {first}, {k * SEGMENT}")
            at = text.define(f"getelementptr {lane_type}, ptr {symbol}, i32 {index}")
            kind = lane_type if shape.bases else f"<{SEGMENT} x {lane_type}>"
            parts.append(Value(lane_type, text.define(f"load {kind}, ptr {at}, align {max(IR_BITS[lane_type] // 8, 1)}")))
        return Lanes(lane_type, shape, tuple(parts))

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
        const = self.emitter.lanes.scalar.const
        return [f"{symbol} = internal constant [{len(numbers)} x {lane_type}] "
                f"[{', '.join(f'{lane_type} {const(lane_type, number).text}' for number in numbers)}], align 64"
                for symbol, (lane_type, numbers) in self.tables.items()]


MASKS = {
    "lanemask_eq": lambda lane: 1 << lane, "lanemask_lt": lambda lane: (1 << lane) - 1,
    "lanemask_le": lambda lane: (2 << lane) - 1, "lanemask_gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
    "lanemask_ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
}
CLOCKS = frozenset({"clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"})
