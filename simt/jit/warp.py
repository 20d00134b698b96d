"""Instructions of the whole warp: atomics, shuffles, votes, matches, address conversions, the vote of a barrier."""
from __future__ import annotations

from simt.ir.blocks import Node
from simt.ir.shapes import SEGMENT, UNIFORM, VARYING, WARP
from simt.isa.table import Unsupported, find
from simt.jit.builder import IR_BITS, IR_TYPE, Value
from simt.jit.lanes import SEGMENTS, Lanes

ATOMIC = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg",
    "inc": "uinc_wrap", "dec": "udec_wrap",
}


class WarpInstructions:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes

    # -- atomics: lane by lane, in lane order, each one atomic on the host too

    def atomic(self, node: Node) -> None:
        memory = self.emitter.memory
        access = memory.access(node)
        mask = memory.active(node)
        memory.observe(access, mask)
        lane_type = self.atomic_type(node)
        operands = [self.emitter.operand(o, node.form.type) for o in node.operands[1:]]
        memory.slow_access(access, mask)
        self.spill_host(access)
        for index, operand in enumerate(operands):
            if operand.type != lane_type:
                operand = self.emitter.reinterpret(operand, lane_type)
            memory.to_exchange(index, operand, lane_type)
        self.lane_loop(mask, lambda lane: self.atomic_lane(node, lane_type, lane))
        if node.results:
            value = memory.from_exchange(0, lane_type, VARYING, mask)
            self.emitter.define(node, 0, self.emitter.reinterpret(value, IR_TYPE[node.form.type]))

    def atomic_type(self, node: Node) -> str:
        lane_type = IR_TYPE[node.form.type]
        if lane_type in ("float", "double") and not (node.form.has("add")):
            return f"i{IR_BITS[lane_type]}"
        return lane_type

    def spill_host(self, access) -> None:
        """Host addresses of all lanes into %addresses (slow_access left the addresses of their own space there)."""
        memory = self.emitter.memory
        if access.shape.bases:
            parts = [self.lanes.shifted(self.lanes.spread(pointer), offsets)
                     for pointer, offsets in memory.moves.segments(access)]
        else:
            parts = memory.moves.pointers(access)
        for k, part in enumerate(parts):
            at = self.text.define(f"getelementptr i64, ptr %addresses, i64 {k * SEGMENT}")
            self.text.emit(f"store {self.lanes.vector.typed(part)}, ptr {at}, align 64")

    def lane_loop(self, mask: str, body) -> None:
        """Run ``body(lane)`` for each lane in the mask, from lane 0."""
        before, loop, after = (self.text.fresh_label(stem) for stem in ("each", "lane", "lanes"))
        first_set = self.text.declare("llvm.cttz.i32", "i32", ("i32", "i1"))
        some = self.text.define(f"icmp ne i32 {mask}, 0")
        self.text.emit(f"br label %{before}")
        self.text.label(before)
        self.text.emit(f"br i1 {some}, label %{loop}, label %{after}")
        self.text.label(loop)
        rest, following = self.text.name(), self.text.name()
        end = self.text.fresh_label("end")
        self.text.emit(f"{rest} = phi i32 [ {mask}, %{before} ], [ {following}, %{end} ]")
        lane = self.text.define(f"call i32 {first_set}(i32 {rest}, i1 true)")
        body(lane)
        self.text.emit(f"br label %{end}")
        self.text.label(end)
        less = self.text.define(f"sub i32 {rest}, 1")
        self.text.emit(f"{following} = and i32 {rest}, {less}")
        last = self.text.define(f"icmp eq i32 {following}, 0")
        self.text.emit(f"br i1 {last}, label %{after}, label %{loop}")
        self.text.label(after)

    def atomic_lane(self, node: Node, lane_type: str, lane: str) -> None:
        address = self.text.define(f"load i64, ptr {self.text.define(f'getelementptr i64, ptr %addresses, i32 {lane}')}")
        where = self.text.define(f"inttoptr i64 {address} to ptr")
        slots = []
        for index in range(len(node.operands) - 1):
            offset = self.text.define(f"add i32 {lane}, {index * WARP}")
            slots.append(self.text.define(f"getelementptr {lane_type}, ptr %exchange, i32 {offset}"))
        values = [self.text.define(f"load {lane_type}, ptr {slot}") for slot in slots]
        self.text.emit(f"store {lane_type} {self.atomic_operation(node, lane_type, where, values)}, ptr {slots[0]}")

    def atomic_operation(self, node: Node, lane_type: str, where: str, values: list[str]) -> str:
        form = node.form
        if form.has("noftz"):
            return self.half_add(form.type, lane_type, where, values[0])
        if form.has("cas"):
            pair = self.text.define(f"cmpxchg ptr {where}, {lane_type} {values[0]}, {lane_type} {values[1]} seq_cst seq_cst")
            return self.text.define(f"extractvalue {{ {lane_type}, i1 }} {pair}, 0")
        name = next((part for part in form.parts if part in (*ATOMIC, "min", "max")), None)
        if name in ("min", "max"):
            operation = name if form.type[0] == "s" else "u" + name
        elif name == "add" and lane_type in ("float", "double"):
            operation = "fadd"
        elif name in ATOMIC:
            operation = ATOMIC[name]
        else:
            raise Unsupported(node.opcode, node.line)
        return self.text.define(f"atomicrmw {operation} ptr {where}, {lane_type} {values[0]} seq_cst")

    def half_add(self, ptx_type: str, lane_type: str, where: str, value: str) -> str:
        """Add 16-bit floats, or two at once, which CPUs do not: compare and swap until nobody came in between."""
        before, retry, done = (self.text.fresh_label(stem) for stem in ("half", "retry", "added"))
        bits = f"i{IR_BITS[lane_type]}"
        self.text.emit(f"br label %{before}")
        self.text.label(before)
        first = self.text.define(f"load atomic {bits}, ptr {where} monotonic, align {IR_BITS[lane_type] // 8}")
        self.text.emit(f"br label %{retry}")
        self.text.label(retry)
        old, found = self.text.name(), self.text.name()
        self.text.emit(f"{old} = phi {bits} [ {first}, %{before} ], [ {found}, %{retry} ]")
        scalar, (row, form) = self.lanes.scalar, find(f"add.{ptx_type}")
        operands = (scalar.cast("bitcast", Value(bits, old), lane_type), Value(lane_type, value))
        total = scalar.cast("bitcast", row.lower(scalar, form, *operands), bits)
        pair = self.text.define(f"cmpxchg ptr {where}, {bits} {old}, {bits} {total.text} seq_cst seq_cst")
        self.text.emit(f"{found} = extractvalue {{ {bits}, i1 }} {pair}, 0")
        swapped = self.text.define(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
        self.text.emit(f"br i1 {swapped}, label %{done}, label %{retry}")
        self.text.label(done)
        return scalar.cast("bitcast", Value(bits, old), lane_type).text

    # -- shuffles

    def shuffle(self, node: Node) -> None:
        """shfl.sync.mode.b32 d|p, a, b, c, membermask: the lanes' sources by the PTX ISA's formula, then a table look-up."""
        value, amount, clamp, members = (self.emitter.operand(o, t) for o, t in
                                         zip(node.operands, ("b32", "u32", "u32", "u32"), strict=True))
        self.require_members(node, members)
        steps = [self.emitter.kernel.ranges.constant(node.operands[k], 32) for k in (1, 2)]
        if None not in steps:
            found, inside = self.fixed_shuffle(node, value, *steps)
        else:
            found, inside = self.computed_shuffle(node, value, amount, clamp)
        self.emitter.define(node, 0, found)
        if len(node.results) > 1:
            self.emitter.define(node, 1, inside)

    def observe_shuffle(self, node: Node, source: Lanes) -> None:
        for observer in self.emitter.observers:
            observer.on_shuffle(self.emitter, node, self.emitter.mask, source)

    def fixed_shuffle(self, node: Node, value: Lanes, amount: int, clamp: int) -> tuple[Lanes, Lanes]:
        """The step is known while compiling: one shuffle of constants."""
        sources = [source_lane(node.form.parts[2], lane, amount, clamp) for lane in range(WARP)]
        self.observe_shuffle(node, self.lanes.varying([
            self.lanes.constants("i32", tuple(source for source, _ in sources[k * SEGMENT:(k + 1) * SEGMENT]))
            for k in range(SEGMENTS)]))
        index = ", ".join(f"i32 {source}" for source, _ in sources)
        full = f"<{WARP} x i32>"
        whole = self.text.define(f"shufflevector {full} {self.lanes.whole_warp(value)}, {full} poison, {full} <{index}>")
        inside = [self.lanes.constants("i1", tuple(int(ok) for _, ok in sources[k * SEGMENT:(k + 1) * SEGMENT]))
                  for k in range(SEGMENTS)]
        return self.lanes.halves("i32", whole), self.lanes.varying(inside)

    def computed_shuffle(self, node: Node, value: Lanes, amount: Lanes, clamp: Lanes) -> tuple[Lanes, Lanes]:
        mode = node.form.parts[2]
        lane = self.lanes.convert(self.emitter.special.read("%laneid"), VARYING)
        source, inside = self.lanes.apply(lambda b, x, y, z: shuffle_source(b, mode, x, y, z), [lane, amount, clamp], VARYING)
        self.observe_shuffle(node, source)
        self.text.emit(f"store <{WARP} x i32> {self.lanes.whole_warp(value)}, ptr %exchange, align 64")
        parts = []
        for index in source.parts:
            wide = self.lanes.vector.cast("zext", index, "i64")
            where = self.text.define(f"getelementptr i32, ptr %exchange, {self.lanes.vector.typed(wide)}")
            parts.append(self.emitter.memory.moves.gather_from(where, "i32"))
        return self.lanes.varying(parts), inside

    def require_members(self, node: Node, members: Lanes) -> None:
        """Each running lane must name itself, and every live lane that it names must be here: else the launch fails."""
        self.emitter.arrival.check(node, members)

    # -- votes and the like

    def vote(self, node: Node) -> None:
        predicate = self.emitter.operand(node.operands[0], "pred")
        members = self.emitter.operand(node.operands[1], "u32")
        self.require_members(node, members)
        bits = self.text.define(f"and i32 {self.lanes.mask_bits(predicate)}, {self.emitter.mask}")
        mode = node.form.parts[2]
        if mode == "ballot":
            self.emitter.define(node, 0, self.lanes.uniform(Value("i32", bits)))
            return
        whole = self.text.define(f"icmp eq i32 {bits}, {self.emitter.mask}")
        none = self.text.define(f"icmp eq i32 {bits}, 0")
        if mode == "all":
            result = whole
        elif mode == "any":
            result = self.text.define(f"xor i1 {none}, true")
        else:
            result = self.text.define(f"or i1 {whole}, {none}")
        self.emitter.define(node, 0, self.lanes.uniform(Value("i1", result)))

    def active_mask(self, node: Node) -> None:
        self.emitter.define(node, 0, self.lanes.uniform(Value("i32", self.emitter.mask)))

    def match(self, node: Node) -> None:
        """match.any: for each lane the running lanes with its value; match.all: the mask if all values agree, else 0."""
        lane_type = IR_TYPE[node.form.type]
        value = self.lanes.convert(self.emitter.operand(node.operands[0], node.form.type), VARYING)
        members = self.emitter.operand(node.operands[1], "u32")
        self.require_members(node, members)
        memory = self.emitter.memory
        memory.to_exchange(0, value, lane_type)
        self.text.emit(f"store <{WARP} x i32> zeroinitializer, ptr %addresses, align 64")

        def one(lane: str) -> None:
            where = self.text.define(f"getelementptr {lane_type}, ptr %exchange, i32 {lane}")
            mine = self.text.define(f"load {lane_type}, ptr {where}")
            same = self.lanes.apply(lambda b, x, y: b.compare("icmp eq", x, y),
                                    [value, self.lanes.uniform(Value(lane_type, mine))], VARYING)[0]
            bits = self.text.define(f"and i32 {self.lanes.mask_bits(same)}, {self.emitter.mask}")
            at = self.text.define(f"getelementptr i32, ptr %addresses, i32 {lane}")
            self.text.emit(f"store i32 {bits}, ptr {at}")

        self.lane_loop(self.emitter.mask, one)
        parts = []
        for k in range(SEGMENTS):
            at = self.text.define(f"getelementptr i32, ptr %addresses, i64 {k * SEGMENT}")
            parts.append(Value("i32", self.text.define(f"load <{SEGMENT} x i32>, ptr {at}, align 64")))
        found = self.lanes.varying(parts)
        if node.form.has("any"):
            self.emitter.define(node, 0, found)
            return
        mask = self.lanes.uniform(Value("i32", self.emitter.mask))
        agree = self.lanes.apply(lambda b, x, y: b.compare("icmp eq", x, y), [found, mask], VARYING)[0]
        self.emitter.define(node, 0, self.lanes.apply(lambda b, p, x: b.select(p, x, b.const("i32", 0)), [agree, mask])[0])
        if len(node.results) > 1:
            self.emitter.define(node, 1, agree)

    def reduce(self, node: Node) -> None:
        """redux.sync over the running lanes: inactive ones take the neutral element."""
        members = self.emitter.operand(node.operands[1], "u32")
        self.require_members(node, members)
        name = node.form.parts[2]
        value = self.emitter.operand(node.operands[0], node.form.type)
        neutral = {"add": 0, "or": 0, "xor": 0, "and": -1, "min": 0x7FFFFFFF, "max": -0x80000000}[name]
        if node.form.type == "u32" and name in ("min", "max"):
            neutral = -1 if name == "min" else 0
        mask = self.lanes.predicate(self.emitter.mask)
        kept = self.emitter.select(mask, value, self.lanes.constant("i32", neutral))
        whole = self.lanes.whole_warp(kept)
        stem = name if name in ("add", "or", "xor", "and") else ("s" if node.form.type == "s32" else "u") + name
        function = self.text.declare(f"llvm.vector.reduce.{stem}.v{WARP}i32", "i32", (f"<{WARP} x i32>",))
        result = self.text.define(f"call i32 {function}(<{WARP} x i32> {whole})")
        self.emitter.define(node, 0, self.lanes.uniform(Value("i32", result)))

    def sync_warp(self, node: Node) -> None:
        self.require_members(node, self.emitter.operand(node.operands[0], "u32"))

    def fence(self, node: Node) -> None:
        self.text.emit("fence seq_cst")

    def nothing(self, node: Node) -> None:
        """nanosleep, prefetch, …: no effect on values."""

    # -- addresses

    def convert_address(self, node: Node) -> None:
        """cvta: shared and local windows lie at their host address in generic space; global and const are themselves."""
        space = next(part for part in node.form.parts if part in ("global", "shared", "local", "const", "param"))
        value = self.emitter.operand(node.operands[0], "u64")
        if space in ("shared", "local"):
            start = self.emitter.memory.origin(space)
            operation = "sub" if node.form.has("to") else "add"
            shape = value.shape if start.shape == UNIFORM and value.shape.bases else None
            value = self.lanes.apply(lambda b, x, y: b.binary(operation, x, y), [value, start], shape)[0]
        self.emitter.define(node, 0, value)

    def in_space(self, node: Node) -> None:
        """isspacep.shared / .local / .global of a generic address."""
        value = self.emitter.operand(node.operands[0], "u64")
        found = {name: self.window(value, name) for name in ("shared", "local")}
        if node.form.has("shared") or node.form.has("local"):
            result = found["shared" if node.form.has("shared") else "local"]
        else:
            either = self.lanes.apply(lambda b, x, y: b.binary("or", x, y), [found["shared"], found["local"]])[0]
            result = self.lanes.apply(lambda b, x: b.binary("xor", x, b.const("i1", 1)), [either])[0]
        self.emitter.define(node, 0, result)

    def window(self, value: Lanes, space: str) -> Lanes:
        origin = self.lanes.uniform(Value("i64", self.text.define(f"ptrtoint ptr %field.{space}_base to i64")))
        if space == "shared":
            size = self.lanes.uniform(Value("i64", self.emitter.context.load("shared_bytes")))
        else:
            warps = -(-self.emitter.kernel.threads // WARP)
            size = self.lanes.constant("i64", self.emitter.layout.local_bytes * WARP * warps)
        if value.shape.bases and not value.shape.flat:
            value = self.lanes.convert(value, VARYING)
        return self.lanes.apply(lambda b, x, o, n: b.compare("icmp ult", b.binary("sub", x, o), n), [value, origin, size])[0]

    # -- barriers

    def barrier_vote(self, node: Node) -> None:
        """bar.red: add this warp's votes to what the round gathers."""
        if ".red." not in node.opcode:
            return
        predicate = self.emitter.operand(node.operands[-1], "pred")
        bits = self.text.define(f"and i32 {self.lanes.mask_bits(predicate)}, {self.emitter.mask}")
        count = self.text.declare("llvm.ctpop.i32", "i32", ("i32",))
        votes = self.text.define(f"zext i32 {self.text.define(f'call i32 {count}(i32 {bits})')} to i64")
        every = self.text.define(f"sext i1 {self.text.define(f'icmp eq i32 {bits}, {self.emitter.mask}')} to i64")
        some = self.text.define(f"zext i32 {bits} to i64")
        gathered = (("arrived_count", "add", votes), ("arrived_all", "and", every), ("arrived_any", "or", some))
        for name, operation, value in gathered:
            at = self.emitter.context.pointer(name)
            old = self.text.define(f"load i64, ptr {at}")
            self.text.emit(f"store i64 {self.text.define(f'{operation} i64 {old}, {value}')}, ptr {at}")


def source_lane(mode: str, lane: int, amount: int, clamp: int) -> tuple[int, bool]:
    """(lane to read, in range) for one lane: shuffle_source on plain numbers."""
    amount &= 31
    segment = clamp >> 8 & 31
    limit = (lane & segment) | (clamp & 31 & ~segment)
    source = {"up": lane - amount, "down": lane + amount, "bfly": lane ^ amount,
              "idx": (lane & segment) | (amount & ~segment & 31)}[mode]
    inside = source >= limit if mode == "up" else source <= limit
    return (source if inside else lane), inside


def shuffle_source(b, mode: str, lane: Value, amount: Value, clamp: Value) -> tuple[Value, Value]:
    """Source lane and whether it is in range: the pseudo-code of PTX ISA, "Data Movement and Conversion: shfl.sync"."""
    segment = b.binary("and", b.binary("lshr", clamp, b.const("i32", 8)), b.const("i32", 31))
    outside = b.binary("xor", segment, b.const("i32", 31))
    limit = b.binary("or", b.binary("and", lane, segment), b.binary("and", b.binary("and", clamp, b.const("i32", 31)), outside))
    amount = b.binary("and", amount, b.const("i32", 31))
    if mode == "up":
        source = b.binary("sub", lane, amount)
        inside = b.compare("icmp sge", source, limit)
    elif mode == "down":
        source = b.binary("add", lane, amount)
        inside = b.compare("icmp sle", source, limit)
    elif mode == "bfly":
        source = b.binary("xor", lane, amount)
        inside = b.compare("icmp sle", source, limit)
    else:
        source = b.binary("or", b.binary("and", lane, segment), b.binary("and", amount, outside))
        inside = b.compare("icmp sle", source, limit)
    return b.select(inside, source, lane), inside

