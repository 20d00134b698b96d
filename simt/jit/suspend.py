"""Barriers: a warp saves what is alive, returns to the block's scheduler, and resumes where it stood.

Lanes that reach a barrier while others of their warp still run are parked. When no lane runs any more, all parked lanes
must stand at one barrier: then the warp waits there. Lanes that ended are excused (compute capability 7.0 and later).
"""
from __future__ import annotations

from collections.abc import Sequence

from simt.ir.blocks import Block, Node
from simt.ir.shapes import WARP
from simt.isa.table import Unsupported
from simt.jit.builder import IR_BITS, IR_TYPE, Value
from simt.jit.lanes import SEGMENTS, Lanes
from simt.jit.turns import TURN
from simt.ptx.statements import Imm

HEADER_BYTES = 64           # i32 number of the barrier, i32 mask of the waiting lanes, i32 lanes that have not ended
LAUNCH_FAILED = 719         # CUresult
FAULT = -2


class Suspension:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes
        self.barriers: list[Block] = []
        self.parking: list[Block] = []          # barriers that lanes may reach while others still run
        self.state_bytes = HEADER_BYTES
        self.traps: list[tuple[Node, str]] = []

    def number(self, block: Block) -> int:
        return self.barriers.index(block) + 1

    def kinds(self) -> list[int]:
        """For each barrier the number of the first that is the same for a reader: one line, one call chain, one operation.

        A compiler that unrolls a loop copies its barrier; warps that leave the loop in different rounds then wait at different
        copies. bar.sync names a barrier by its number, not by its place (PTX ISA, "bar").
        """
        first: dict[tuple, int] = {}
        found = []
        for number, block in enumerate(self.barriers, 1):
            node = block.terminator
            names = tuple(operand for operand in node.operands if isinstance(operand, Imm))
            key = (node.opcode, names, node.source, node.inlined) if node.source else (number,)
            found.append(first.setdefault(key, number))
        return found

    def emit_barrier(self, block: Block) -> None:
        self.barriers.append(block)
        number = self.number(block)
        block.terminator.row.lower(self.emitter, block.terminator)      # votes of bar.red
        if self.emitter.flow.waiting(block) or block in self.emitter.kernel.shapes.shared:
            self.park(block, number)
        saved = self.save(number, self.alive_after(block))
        self.text.emit(f"ret i32 {number}")
        self.resume(block, number, saved)

    def park(self, block: Block, number: int) -> None:
        """The lanes wait here until no other lane of their warp runs; then the code goes on at ``suspend``."""
        self.parking.append(block)
        old = self.text.define(f"load i32, ptr %parked{number}")
        for observer in self.emitter.observers:
            observer.on_park(self.emitter, block.terminator, old)
        self.text.emit(f"store i32 {self.text.define(f'or i32 {old}, {self.emitter.mask}')}, ptr %parked{number}")
        self.emitter.flow.dispatch(self.emitter.flow.waiting(block), None)
        self.text.label(f"suspend{number}")
        self.emitter.values.cached = {}
        self.emitter.mask = self.text.define(f"load i32, ptr %parked{number}")
        self.text.emit(f"store i32 0, ptr %parked{number}")

    def save(self, number: int, names: list[str], masks: Sequence[str] = ()) -> list[tuple[str, int]]:
        """Store where the warp stands, the running lanes, these values, and masks held at these pointers.

        Returns (name, byte offset) of the values.
        """
        self.text.emit(f"store i32 {number}, ptr %state")
        self.store_header(4, self.emitter.mask)
        self.store_header(8, self.text.define("load i32, ptr %alive"))
        for k, pointer in enumerate(masks):
            self.store_header(HEADER_BYTES + 4 * k, self.text.define(f"load i32, ptr {pointer}"))
        saved, offset = [], HEADER_BYTES + -(-4 * len(masks) // 64) * 64
        for name in names:
            saved.append((name, offset))
            offset = self.save_value(self.emitter.values.read(name), offset)
        self.state_bytes = max(self.state_bytes, offset)
        return saved

    def restore(self, saved: list[tuple[str, int]], masks: Sequence[str]) -> None:
        """What ``save`` has stored, in all lanes."""
        self.emitter.values.cached, self.emitter.mask = {}, "-1"
        for k, pointer in enumerate(masks):
            at = self.text.define(f"getelementptr i8, ptr %state, i64 {HEADER_BYTES + 4 * k}")
            self.text.emit(f"store i32 {self.text.define(f'load i32, ptr {at}')}, ptr {pointer}")
        for name, offset in saved:
            self.restore_value(name, offset)

    def store_header(self, offset: int, value: str) -> None:
        at = self.text.define(f"getelementptr i8, ptr %state, i64 {offset}")
        self.text.emit(f"store i32 {value}, ptr {at}")

    def alive_after(self, block: Block) -> list[str]:
        names: set[str] = set()
        for successor in block.successors:
            names |= self.emitter.kernel.values.live_in[successor]
            names |= {phi.incoming[block] for phi in successor.phis}
        names -= set(block.terminator.results)
        return sorted(name for name in names if name in self.emitter.kernel.values.block)

    def save_value(self, value: Lanes, offset: int) -> int:
        """Store one value at a multiple of 64 bytes; a predicate as bits. Returns the offset of the next."""
        if value.type == "i1" and not value.shape.bases:
            at = self.text.define(f"getelementptr i8, ptr %state, i64 {offset}")
            self.text.emit(f"store i32 {self.lanes.mask_bits(value)}, ptr {at}")
            return offset + 64
        builder, step = self.layout(value)
        for k, part in enumerate(value.parts):
            at = self.text.define(f"getelementptr i8, ptr %state, i64 {offset + k * step}")
            self.text.emit(f"store {builder.typed(part)}, ptr {at}, align {min(step, 64)}")
        return offset + -(-step * len(value.parts) // 64) * 64

    def layout(self, value: Lanes):
        """(builder, bytes of one part)."""
        size = max(IR_BITS[value.type] // 8, 1)
        return (self.lanes.scalar, 8) if value.shape.bases else (self.lanes.vector, size * WARP // SEGMENTS)

    def restore_value(self, name: str, offset: int) -> None:
        lane_type = IR_TYPE[self.emitter.kernel.register_type(name)]
        shape = self.emitter.shape_of(name)
        if lane_type == "i1" and not shape.bases:
            at = self.text.define(f"getelementptr i8, ptr %state, i64 {offset}")
            self.emitter.values.write(name, self.lanes.predicate(self.text.define(f"load i32, ptr {at}")))
            return
        builder, step = self.layout(Lanes(lane_type, shape, ()))
        parts = []
        for k in range(shape.bases or SEGMENTS):
            at = self.text.define(f"getelementptr i8, ptr %state, i64 {offset + k * step}")
            parts.append(Value(lane_type, self.text.define(f"load {builder.full(lane_type)}, ptr {at}, align {min(step, 64)}")))
        self.emitter.values.write(name, Lanes(lane_type, shape, tuple(parts)))

    def resume(self, block: Block, number: int, saved: list[tuple[str, int]]) -> None:
        self.text.label(f"resume{number}")
        self.emitter.values.cached = {}
        at = self.text.define("getelementptr i8, ptr %state, i64 4")
        self.emitter.mask = self.text.define(f"load i32, ptr {at}")
        for name, offset in saved:
            self.restore_value(name, offset)
        for observer in self.emitter.observers:
            observer.on_release(self.emitter, block.terminator, self.emitter.mask)
        self.deliver(block)
        if not block.successors:
            self.emitter.flow.retire(self.emitter.mask)
            self.text.emit("br label %done")
            return
        successor = block.successors[0]
        if successor.is_exit:
            self.emitter.flow.retire(self.emitter.mask)
            self.text.emit("br label %done")
            return
        self.emitter.flow.hand_over([(successor, self.emitter.mask)])
        self.emitter.flow.poll(block, successor)
        self.text.emit(f"br label %{self.emitter.flow.label(successor)}")

    def deliver(self, block: Block) -> None:
        """Results of a barrier with a vote: the block's count, all or any."""
        node = block.terminator
        if not node.results:
            return
        if node.base == "call":
            self.emitter.define(node, 0, self.lanes.constant("i32", 0))
            return
        what = next((name for name in ("popc", "and", "or") if node.form.has(name)), None)
        field = {"popc": "result_count", "and": "result_all", "or": "result_any"}.get(what)
        if field is None:
            raise Unsupported(node.opcode, node.line)
        value = self.emitter.context.load(field)
        if what == "popc":
            lanes = self.lanes.uniform(Value("i32", self.text.define(f"trunc i64 {value} to i32")))
        else:
            lanes = self.lanes.uniform(Value("i1", self.text.define(f"icmp ne i64 {value}, 0")))
        self.emitter.define(node, 0, lanes)

    # -- entry and end of run_warp

    def emit_prologue(self) -> None:
        self.text.emit("%alive = alloca i32")
        for block in self.parking:
            self.text.emit(f"%parked{self.number(block)} = alloca i32")
            self.text.emit(f"store i32 0, ptr %parked{self.number(block)}")
        at = self.text.define("getelementptr i8, ptr %state, i64 8")
        alive = self.text.define(f"load i32, ptr {at}")
        self.text.emit(f"store i32 {alive}, ptr %alive")
        where = self.text.define("load i32, ptr %state")
        places = [*range(1, len(self.barriers) + 1), *([TURN] if self.emitter.turns.loops else [])]
        cases = " ".join(f"i32 {place}, label %resume{place}" for place in places)
        self.text.emit(f"switch i32 {where}, label %start [ {cases} ]")
        self.text.label("start")
        self.text.emit(f"store i32 {alive}, ptr {self.emitter.flow.pending(self.emitter.kernel.order.blocks[0])}")
        self.text.emit(f"br label %{self.emitter.flow.label(self.emitter.kernel.order.blocks[0])}")

    def emit_done(self) -> None:
        """No lane runs: suspend at the barrier where lanes are parked, fail if they stand at several, or end."""
        self.text.label("done")
        self.emitter.values.cached = {}
        self.emitter.turns.emit_done([name for block in self.parking for name in self.alive_after(block)],
                                     [f"%parked{self.number(block)}" for block in self.parking])
        if self.parking:
            masks = [(block, self.text.define(f"load i32, ptr %parked{self.number(block)}")) for block in self.parking]
            some = [self.text.define(f"icmp ne i32 {mask}, 0") for _, mask in masks]
            count = None
            for flag in some:
                wide = self.text.define(f"zext i1 {flag} to i32")
                count = wide if count is None else self.text.define(f"add i32 {count}, {wide}")
            several = self.text.define(f"icmp ugt i32 {count}, 1")
            single = self.text.fresh_label("single")
            self.text.emit(f"br i1 {several}, label %apart, label %{single}")
            self.text.label(single)
            for (block, _), flag in zip(masks, some, strict=True):
                following = self.text.fresh_label("next")
                self.text.emit(f"br i1 {flag}, label %suspend{self.number(block)}, label %{following}")
                self.text.label(following)
        self.text.emit("store i32 -1, ptr %state")
        self.text.emit("ret i32 0")
        if self.parking:
            self.emit_apart(masks)
        self.text.label("stopped")
        self.text.emit(f"ret i32 {FAULT}")

    def emit_apart(self, parked: list[tuple[Block, str]]) -> None:
        """Lanes of the warp stand at different barriers: two of them make the fault, packed in halves (the first one low):
        their numbers in ``fault_address``, their lanes in ``fault_mask``."""
        self.text.label("apart")
        pairs = []
        for _ in range(2):
            number, mask = "0", "0"
            for block, lanes in reversed(parked):
                taken = [self.text.define(f"icmp eq i32 {self.number(block)}, {other}") for other, _ in pairs]
                here = self.text.define(f"select i1 {taken[0]}, i32 0, i32 {lanes}") if taken else lanes
                some = self.text.define(f"icmp ne i32 {here}, 0")
                number = self.text.define(f"select i1 {some}, i32 {self.number(block)}, i32 {number}")
                mask = self.text.define(f"select i1 {some}, i32 {here}, i32 {mask}")
            pairs.append((number, mask))
        packed = []
        for low, high in zip(*pairs, strict=True):
            wide = [self.text.define(f"zext i32 {half} to i64") for half in (low, high)]
            packed.append(self.text.define(f"or i64 {wide[0]}, {self.text.define(f'shl i64 {wide[1]}, 32')}"))
        self.text.emit(f"store i64 {packed[0]}, ptr {self.emitter.context.pointer('fault_address')}")
        trap = self.trap(parked[0][0].terminator, "different barriers")
        self.record_fault(LAUNCH_FAILED, trap, packed[1], self.first_lane(pairs[0][1]))

    def emit_fault(self, code: int, trap: int, mask: str) -> None:
        """Record a fault in the context and leave. ``trap``: index into ``traps``, which names the instruction."""
        self.record_fault(code, trap, self.text.define(f"zext i32 {mask} to i64"), self.first_lane(mask))

    def record_fault(self, code: int, trap: int, mask: str, lane: str) -> None:
        """``mask``, ``lane``: i64."""
        warp = self.text.define("zext i32 %warp to i64")
        for name, value in (("fault_code", code), ("fault_site", -1), ("fault_mask", mask), ("fault_warp", warp),
                            ("fault_lane", lane), ("fault_extra", trap)):
            self.text.emit(f"store i64 {value}, ptr {self.emitter.context.pointer(name)}")
        self.text.emit("store atomic i32 1, ptr %field.stop monotonic, align 4")
        self.text.emit("br label %stopped")

    def first_lane(self, mask: str) -> str:
        first_set = self.text.declare("llvm.cttz.i32", "i32", ("i32", "i1"))
        return self.text.define(f"zext i32 {self.text.define(f'call i32 {first_set}(i32 {mask}, i1 false)')} to i64")

    def trap(self, node: Node, reason: str) -> int:
        """Register a place where the launch can fail for another reason than an address."""
        self.traps.append((node, reason))
        return len(self.traps) - 1

    def fail(self, code: int, node: Node, reason: str) -> None:
        """The running lanes end the launch here. Code that follows cannot be reached."""
        self.emit_fault(code, self.trap(node, reason), self.emitter.mask)
        self.text.label(self.text.fresh_label("unreachable"))

    def fail_if(self, wrong: str, node: Node, reason: str, mask: str) -> None:
        """Fault when the i1 ``wrong`` holds; ``mask``: the lanes to blame."""
        bad, going = self.text.fresh_label("wrong"), self.text.fresh_label("right")
        self.text.emit(f"br i1 {wrong}, label %{bad}, label %{going}")
        self.text.label(bad)
        self.emit_fault(LAUNCH_FAILED, self.trap(node, reason), mask)
        self.text.label(going)
