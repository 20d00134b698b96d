"""Loads and stores: every access is checked before it happens.

Fast way: all lanes are in bounds and aligned, running or not, so whole vectors move without a mask (simt/jit/moves.py; a
store also needs all 32 lanes to run). Anything else takes the slow way through ``simt_access`` (simt/jit/native), which
looks at the active lanes one by one, and faults or moves their bytes. Loads of a scalar base: see simt/jit/standby.py.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from simt.ir.blocks import Block, Node
from simt.ir.shapes import SEGMENT, UNIFORM, VARYING, WARP, Shape
from simt.isa.table import Unsupported
from simt.jit.access import SITE_FIELDS, Access, Planner, Site, parse, split_address
from simt.jit.builder import Value
from simt.jit.lanes import SEGMENTS, Lanes
from simt.jit.moves import Moves
from simt.jit.standby import Standby
from simt.ptx.statements import Symbol, Vector

ACTION_CODE = {"load": 0, "store": 1, "atomic": 2}
CAREFUL_LOAD = 3            # shares its check with a store
SPACE_CODE = {"global": 0, "const": 0, "shared": 1, "local": 2, "generic": 3}


class MemoryEmitter:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes
        self.planner = Planner(emitter.kernel.shapes.of)
        self.moves = Moves(emitter)
        self.patterns: dict[tuple[int, ...], int] = {}      # lane offsets -> number of their constant table
        self.standby = Standby(emitter)
        self.checked: dict[Node, Callable[[], list[Lanes]]] = {}    # loads whose check ran with an earlier one of their batch

    def emit_prologue(self) -> None:
        self.text.emit(f"%addresses = alloca [{WARP} x i64], align 64")
        self.text.emit(f"%exchange = alloca [{WARP * 4} x i64], align 64")
        for line in self.standby.allocations():
            self.text.emit(line)

    def start_block(self, block: Block) -> None:
        self.planner.plan(block.nodes)

    def access(self, node: Node) -> Access:
        base, offset = split_address(node.operands[0])
        return Access(self.planner.by_node[node], self.emitter.operand(base, "u64"), offset)

    def symbol(self, operand: Symbol) -> Lanes:
        """The address of a variable, in its own space; of a global or constant one, the host address."""
        layout = self.emitter.layout
        for table in (layout.shared, layout.local, layout.params):
            if operand.name in table:
                return self.lanes.constant("i64", table[operand.name] + operand.offset)
        if operand.name not in layout.globals:
            raise Unsupported(f"the address of {operand.name}")
        at = self.text.define(f"getelementptr i64, ptr %field.globals, i64 {layout.globals.index(operand.name)}")
        address = self.text.define(f"load i64, ptr {at}")
        if operand.offset:
            address = self.text.define(f"add i64 {address}, {operand.offset}")
        return self.lanes.uniform(Value("i64", address))

    # -- rows

    def load(self, node: Node) -> None:
        space, lane_type, _, elements = parse(node)
        if space == "param":
            values = self.load_param(node, lane_type, elements)
        else:
            if node not in self.checked:
                self.check_batch(self.planner.by_node[node])
            values = self.checked.pop(node)()
        for index, value in enumerate(values):
            self.emitter.define(node, index, value)

    def check_batch(self, site: Site) -> None:
        """Check a load and those that share its check: one branch for all of them."""
        sites = site.batch[site.batch.index(site):] if site in site.batch else [site]
        accesses = [self.access(one.node) for one in sites]
        mask = self.active(site.node)
        for access in accesses:
            self.observe(access, mask)
        if self.standby.serves(accesses):
            for access in self.standby.ready(accesses, mask):
                self.checked[access.site.node] = functools.partial(self.moves.load, access, parse(access.site.node)[1])
            return
        for access, values in zip(accesses, self.checked_loads(accesses, mask), strict=True):
            self.checked[access.site.node] = functools.partial(list, values)

    def load_param(self, node: Node, lane_type: str, elements: int) -> list[Lanes]:
        base, offset = split_address(node.operands[0])
        size = parse(node)[2]
        if not isinstance(base, Symbol):
            raise Unsupported("a parameter read through a register", node.line)
        start = self.emitter.layout.params[base.name] + offset
        found = []
        for index in range(elements):
            at = self.text.define(f"getelementptr i8, ptr %params, i64 {start + index * size}")
            found.append(self.lanes.uniform(Value(lane_type, self.text.define(f"load {lane_type}, ptr {at}, align 1"))))
        return found

    def store(self, node: Node) -> None:
        _, lane_type, _, _ = parse(node)
        access = self.access(node)
        mask = self.active(node)
        source = node.operands[1]
        items = source.items if isinstance(source, Vector) else (source,)
        values = [self.emitter.operand(item, node.form.type) for item in items]
        self.observe(dataclasses.replace(access, values=tuple(values)), mask)
        scalar = access.shape == UNIFORM and all(v.shape == UNIFORM for v in values) and not node.guard \
            and access.site.space != "local"        # there, one address means a cell of each lane
        passed = self.check(access)
        if not scalar:
            whole = self.text.define(f"icmp eq i32 {mask}, -1")
            passed = self.text.define(f"and i1 {passed}, {whole}")
        fast, slow, join = (self.text.fresh_label(stem) for stem in ("fast", "slow", "stored"))
        self.text.emit(f"br i1 {passed}, label %{fast}, label %{slow}, !prof !0")
        self.text.label(fast)
        self.moves.store(access, values, lane_type)
        self.text.emit(f"br label %{join}")
        self.text.label(slow)
        for index, value in enumerate(values):
            self.to_exchange(index, value, lane_type)
        self.slow_access(access, mask)
        self.text.emit(f"br label %{join}")
        self.text.label(join)

    def active(self, node: Node) -> str:
        """The running lanes whose guard holds."""
        if not node.guard:
            return self.emitter.mask
        bits = self.lanes.mask_bits(self.emitter.guard(node))
        return self.text.define(f"and i32 {self.emitter.mask}, {bits}")

    def observe(self, access: Access, mask: str) -> None:
        """Show the access to the observers; a generic one as what it is, once for each space that lanes may mean by it."""
        if not self.emitter.observers:
            return
        if access.space != "generic":
            for observer in self.emitter.observers:
                observer.on_access(self.emitter, access, mask)
            return
        rest = mask
        for space in ("shared", "local"):
            inner = self.moved(access, self.origin(space))
            extent = self.lanes.uniform(Value("i64", self.emitter.context.load(f"{space}_bytes")))
            inside = self.lanes.apply(lambda b, x, y: b.compare("icmp ult", x, y), [inner, extent], VARYING)[0]
            chosen = self.text.define(f"and i32 {mask}, {self.lanes.mask_bits(inside)}")
            rest = self.text.define(f"and i32 {rest}, {self.text.define(f'xor i32 {chosen}, -1')}")
            self.observe_some(dataclasses.replace(access, base=inner, window=space), chosen)
        self.observe_some(dataclasses.replace(access, window="global"), rest)

    def origin(self, space: str) -> Lanes:
        """Generic address of byte 0 of shared memory, or of each lane's local memory."""
        start = Value("i64", self.text.define(f"ptrtoint ptr %field.{space}_base to i64"))
        if space == "shared":
            return self.lanes.uniform(start)
        first, size = self.moves.frame(start), self.emitter.layout.local_bytes
        return self.lanes.varying([self.lanes.shifted(self.lanes.spread(first), tuple(
            lane * size for lane in range(k * SEGMENT, (k + 1) * SEGMENT))) for k in range(SEGMENTS)])

    def moved(self, access: Access, origin: Lanes) -> Lanes:
        """The base counted from ``origin``."""
        shape = access.shape if origin.shape == UNIFORM else VARYING
        return self.lanes.apply(lambda b, x, y: b.binary("sub", x, y), [access.base, origin], shape)[0]

    def observe_some(self, access: Access, mask: str) -> None:
        """As ``observe``, where there are such lanes."""
        some, end = self.text.fresh_label("some"), self.text.fresh_label("seen")
        self.text.emit(f"br i1 {self.text.define(f'icmp ne i32 {mask}, 0')}, label %{some}, label %{end}")
        self.text.label(some)
        self.observe(access, mask)
        self.text.emit(f"br label %{end}")
        self.text.label(end)

    # -- checks

    def check(self, access: Access) -> str:
        """i1: all 32 lanes, running or not, could touch what the whole group asks for."""
        group = access.site.group
        if group.passed is None:
            at = self.text.define(f"getelementptr i64, ptr %checks, i64 {2 * group.index}")
            first = self.text.define(f"load i64, ptr {at}")
            at = self.text.define(f"getelementptr i64, ptr %checks, i64 {2 * group.index + 1}")
            span = self.text.define(f"load i64, ptr {at}")
            if any(offset % access.site.bytes for offset in access.shape.offsets):
                group.passed = "false"              # wherever the base lies, some lane is misaligned
            else:
                group.passed = self.check_bases(access, first, span) if access.shape.bases else \
                    self.check_vector(access, first, span)
        return group.passed

    def check_bases(self, access: Access, first: str, span: str) -> str:
        """One subtract, rotate and compare: a misaligned distance rotates its low bits to the top and fails as too large."""
        shift = access.site.bytes.bit_length() - 1
        rotate = self.text.declare("llvm.fshr.i64", "i64", ("i64", "i64", "i64"))
        passed = None
        for base in access.base.parts:
            distance = self.text.define(f"sub i64 {base.text}, {first}")
            if shift:
                distance = self.text.define(f"call i64 {rotate}(i64 {distance}, i64 {distance}, i64 {shift})")
            one = self.text.define(f"icmp ule i64 {distance}, {span}")
            passed = one if passed is None else self.text.define(f"and i1 {passed}, {one}")
        return passed

    def check_vector(self, access: Access, first: str, span: str) -> str:
        """Every lane, running or not: the distance, the room left and the negated misalignment must all be non-negative.

        A stray address in a lane that does not run only sends the access the slow way, which looks at running lanes alone.
        """
        shift = access.site.bytes.bit_length() - 1
        vector = self.lanes.vector
        wide = self.text.define(f"shl i64 {span}, {shift}")
        low, limit = (self.lanes.spread(Value("i64", text)) for text in (first, wide))
        worst = None
        for address in access.base.parts:
            distance = vector.binary("sub", address, low)
            signs = [distance, vector.binary("sub", limit, distance)]
            if shift:
                odd = vector.binary("and", distance, vector.const("i64", access.site.bytes - 1))
                signs.append(vector.binary("sub", vector.const("i64", 0), odd))
            for sign in signs:
                worst = sign if worst is None else vector.binary("or", worst, sign)
        reduce = self.text.declare(f"llvm.vector.reduce.or.v{SEGMENT}i64", "i64", (f"<{SEGMENT} x i64>",))
        whole = self.text.define(f"call i64 {reduce}({vector.typed(worst)})")
        return self.text.define(f"icmp sge i64 {whole}, 0")

    # -- the fast way

    def checked_loads(self, accesses: list[Access], mask: str) -> list[list[Lanes]]:
        lane_types = [parse(access.site.node)[1] for access in accesses]
        passed = self.check(accesses[0])
        fast, slow, join = (self.text.fresh_label(stem) for stem in ("fast", "slow", "loaded"))
        self.text.emit(f"br i1 {passed}, label %{fast}, label %{slow}, !prof !0")
        self.text.label(fast)
        quick = [self.moves.load(access, lane_type) for access, lane_type in zip(accesses, lane_types, strict=True)]
        self.text.emit(f"br label %{join}")
        self.text.label(slow)
        careful = []
        for access, lane_type, values in zip(accesses, lane_types, quick, strict=True):
            slow = self.slow_access(access, mask)
            careful.append([self.from_exchange(k, lane_type, value.shape, mask) for k, value in enumerate(values)])
        self.text.emit(f"br label %{join}")
        self.text.label(join)
        return [[self.joined(x, y, fast, slow) for x, y in zip(xs, ys, strict=True)]
                for xs, ys in zip(quick, careful, strict=True)]

    def joined(self, x: Lanes, y: Lanes, x_label: str, y_label: str) -> Lanes:
        builder = self.lanes.scalar if x.shape.bases else self.lanes.vector
        parts = []
        for p, q in zip(x.parts, y.parts, strict=True):
            full = builder.full(x.type)
            parts.append(Value(x.type, self.text.define(
                f"phi {full} [ {builder.ref(p)}, %{x_label} ], [ {builder.ref(q)}, %{y_label} ]")))
        return Lanes(x.type, x.shape, tuple(parts))

    # -- the slow way

    def slow_access(self, access: Access, mask: str) -> str:
        """Check each active lane, then move its bytes between memory and the exchange buffer; leave on a fault.

        Returns the label of the block in which the code goes on.
        """
        site = self.text.define(f"getelementptr i64, ptr @sites, i64 {access.site.index * SITE_FIELDS}")
        where = "ptr %context, ptr %checks, ptr " + site + f", i32 {mask}, i32 %warp"
        if access.shape.bases:
            bases = self.lanes.bases(access.base, SEGMENTS)
            table = self.pattern(access)
            failed = self.text.define(
                f"call i32 @simt_access_shaped({where}, i64 {bases[0].text}, i64 {bases[1].text}, i64 {access.offset}, "
                f"ptr {table}, ptr %addresses, ptr %exchange)")
        else:
            self.spill_addresses(access)
            failed = self.text.define(f"call i32 @simt_access({where}, ptr %addresses, ptr %exchange)")
        wrong = self.text.define(f"icmp ne i32 {failed}, 0")
        going = self.text.fresh_label("legal")
        self.text.emit(f"br i1 {wrong}, label %stopped, label %{going}")
        self.text.label(going)
        return going

    def pattern(self, access: Access) -> str:
        """The constant table of the lanes' offsets from the base of their half warp."""
        offsets = access.shape.segmented().offsets
        return f"@offsets{self.patterns.setdefault(offsets, len(self.patterns))}"

    def spill_addresses(self, access: Access) -> None:
        for k, part in enumerate(self.lanes.vectors(access.base)):
            if access.offset:
                part = self.lanes.vector.binary("add", part, self.lanes.vector.const("i64", access.offset))
            at = self.text.define(f"getelementptr i64, ptr %addresses, i64 {k * SEGMENT}")
            self.text.emit(f"store {self.lanes.vector.typed(part)}, ptr {at}, align 64")

    def to_exchange(self, element: int, value: Lanes, lane_type: str) -> None:
        for k, part in enumerate(self.lanes.vectors(value)):
            at = self.text.define(f"getelementptr {lane_type}, ptr %exchange, i64 {element * WARP + k * SEGMENT}")
            self.text.emit(f"store {self.lanes.vector.typed(part)}, ptr {at}, align 8")

    def from_exchange(self, element: int, lane_type: str, shape: Shape, mask: str) -> Lanes:
        """Vectors, or for a flat value the element of the first active lane of each segment."""
        if shape.bases == 0:
            parts = []
            for k in range(SEGMENTS):
                at = self.text.define(f"getelementptr {lane_type}, ptr %exchange, i64 {element * WARP + k * SEGMENT}")
                parts.append(Value(lane_type, self.text.define(f"load <{SEGMENT} x {lane_type}>, ptr {at}, align 8")))
            return self.lanes.varying(parts)
        first_set = self.text.declare("llvm.cttz.i32", "i32", ("i32", "i1"))
        parts = []
        for k in range(shape.bases):
            half = 0xFFFF if k == 0 else -0x10000
            bits = mask if shape.bases == 1 else self.text.define(f"and i32 {mask}, {half}")
            lane = self.text.define(f"call i32 {first_set}(i32 {bits}, i1 false)")
            lane = self.text.define(f"and i32 {lane}, {WARP - 1}")
            lane = self.text.define(f"add i32 {lane}, {element * WARP}")
            at = self.text.define(f"getelementptr {lane_type}, ptr %exchange, i32 {lane}")
            parts.append(Value(lane_type, self.text.define(f"load {lane_type}, ptr {at}")))
        return Lanes(lane_type, shape, tuple(parts))

    def global_text(self) -> list[str]:
        """The table of sites that simt_access reads, and the tables of lane offsets."""
        rows = []
        writing = {site.group for site in self.planner.sites if site.action != "load"}
        for site in self.planner.sites:
            group = site.group
            action = CAREFUL_LOAD if site.action == "load" and group in writing else ACTION_CODE[site.action]
            fields = (site.index, site.element_bytes, site.elements, SPACE_CODE[site.space],
                      action, group.index, group.low, group.extent)
            rows += [f"i64 {field}" for field in fields]
        lines = self.standby.global_text()
        lines += [f"@sites = internal constant [{max(len(rows), 1)} x i64] [{', '.join(rows) or 'i64 0'}], align 64"]
        for offsets, number in self.patterns.items():
            numbers = ", ".join(f"i64 {offset}" for offset in offsets)
            lines.append(f"@offsets{number} = internal constant [{WARP} x i64] [{numbers}], align 64")
        return lines
