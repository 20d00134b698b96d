"""One kernel -> the LLVM function ``run_warp``: runs a warp until it ends, waits at a barrier, or faults.

    i32 run_warp(ptr state, ptr params, ptr context, ptr counters, ptr checks, i32 warp)
    returns 0 when every lane has ended, k > 0 when it waits at barrier k, TURN when it waits for what others write to memory,
    FAULT after a fault

Every block has an i32 of pending lanes. A block takes its lanes, runs, hands them to its successors, and the pending
block that comes first in linear order runs next (simt/ir/order.py).
"""
from __future__ import annotations

from simt.ir.blocks import SPECIAL, Block, Node
from simt.ir.program import Kernel
from simt.ir.shapes import UNIFORM, VARYING, Shape
from simt.isa.table import Unsupported
from simt.jit.arrival import Arrival
from simt.jit.builder import IR_BITS, IR_TYPE, Text
from simt.jit.calls import RuntimeCalls
from simt.jit.context import Context
from simt.jit.flow import Flow
from simt.jit.lanes import LaneBuilder, Lanes
from simt.jit.literals import immediate
from simt.jit.memory import MemoryEmitter
from simt.jit.predicates import Predicates
from simt.jit.special import SpecialRegisters
from simt.jit.suspend import Suspension
from simt.jit.turns import Turns
from simt.jit.values import Values
from simt.jit.warp import WarpInstructions
from simt.observe.observer import ACTIONS
from simt.ptx.statements import Imm, Negated, Operand, Reg, Symbol

FAULT = -2
FULL = "-1"                 # the mask with all 32 lanes


class KernelEmitter:
    """Writes run_warp. The parts share this object: ``text``, ``lanes``, ``mask`` and the values of the current block."""

    def __init__(self, kernel: Kernel, observers=()):
        self.kernel = kernel
        self.text = Text()
        self.lanes = LaneBuilder(self.text)
        self.context = Context(self.text)
        self.special = SpecialRegisters(self)
        self.predicates = Predicates(self)
        self.memory = MemoryEmitter(self)
        self.warp = WarpInstructions(self)
        self.calls = RuntimeCalls(self)
        self.suspension = Suspension(self)
        self.values = Values(self)
        self.flow = Flow(self)
        self.arrival = Arrival(self)
        self.turns = Turns(self)
        self.observers = observers
        self.mask = FULL
        self.block: Block = kernel.order.blocks[0]

    # -- the function

    def emit(self) -> str:
        for block in self.kernel.order.blocks:
            self.emit_block(block)
        self.suspension.emit_done()
        body = self.text.lines
        self.text.lines = []
        self.prologue()
        return "\n".join([*self.text.lines, *body, "}"])

    def prologue(self) -> None:
        self.text.lines.append(
            "define internal i32 @run_warp(ptr noalias %state, ptr noalias %params, ptr noalias %context, "
            "ptr noalias %counters, ptr noalias %checks, i32 %warp) #0 {")
        self.text.label("entry")
        self.values.emit_prologue()
        self.flow.emit_prologue()
        self.arrival.emit_prologue()
        self.turns.emit_prologue()
        self.context.emit_prologue()
        self.memory.emit_prologue()
        self.suspension.emit_prologue()

    def emit_block(self, block: Block) -> None:
        self.block, self.values.cached = block, {}
        self.text.label(self.flow.label(block))
        self.mask = self.flow.take(block)
        self.turns.start_block(block)
        for observer in self.observers:
            observer.on_block(self, block)
        self.memory.start_block(block)
        for node in block.nodes:
            self.emit_node(node)
        self.flow.emit_terminator(block)

    # -- instructions

    def emit_node(self, node: Node) -> None:
        if node.guard and self.observers:
            self.observe_guarded(node)
        if node.row.level == "warp":
            if self.observers and node.row.kind not in ACTIONS:
                self.observe_warp_instruction(node)
            node.row.lower(self, node)
            return
        if len(node.results) == 1:
            fixed = self.kernel.ranges.fixed(node.results[0])
            if fixed is not None and not node.guard:
                self.define(node, 0, self.lanes.constant(IR_TYPE[node.row.result_types(node.form)[0]], fixed))
                return
        types = node.row.operand_types(node.form)
        operands = [self.operand(operand, ptx_type) for operand, ptx_type in zip(node.operands, types, strict=True)]
        if self.is_shaped_of_varying(node, operands):
            self.define(node, 0, self.special.known(node.results[0]))
            return
        quick = self.predicates.lower(node, operands)
        if quick is not None:
            self.define(node, 0, quick)
            return
        shape = self.shape_of(node.results[0]) if len(node.results) == 1 and not node.guard else None
        results = self.lanes.apply(lambda builder, *args: node.row.lower(builder, node.form, *args), operands, shape)
        for index in range(len(node.results)):
            self.define(node, index, results[index])

    def is_shaped_of_varying(self, node: Node, operands: list[Lanes]) -> bool:
        """The result's numbers are known by thread and have a pattern that those of its operands lack."""
        return len(node.results) == 1 and not node.guard and self.shape_of(node.results[0]).bases > 0 \
            and any(not operand.shape.bases for operand in operands)

    def observe_guarded(self, node: Node) -> None:
        mask = self.text.define(f"and i32 {self.mask}, {self.lanes.mask_bits(self.guard(node))}")
        for observer in self.observers:
            observer.on_guarded(self, node, mask)

    def observe_warp_instruction(self, node: Node) -> None:
        mask = self.memory.active(node)
        for observer in self.observers:
            observer.on_warp_instruction(self, node, mask)

    def shape_of(self, name: str) -> Shape:
        return self.kernel.shapes.of_value.get(name, UNIFORM)

    def define(self, node: Node, index: int, value: Lanes) -> None:
        """Give result ``index`` of a node its value: guard, register width, stack slot."""
        name = node.results[index]
        if name == "_":
            return
        ptx_type = node.row.result_types(node.form)[index]
        value = self.to_register(value, ptx_type, IR_TYPE[self.kernel.register_type(name)])
        if node.guard:
            value = self.select(self.guard(node), value, self.values.read(node.previous[name]))
        self.values.write(name, value)

    def guard(self, node: Node) -> Lanes:
        value = self.values.read(node.guard)
        return self.predicates.inverse(value) if node.negated else value

    def select(self, condition: Lanes, x: Lanes, y: Lanes) -> Lanes:
        operands = [condition, x, y]
        if condition.shape == UNIFORM and x.shape.bases and x.shape == y.shape:
            return self.lanes.apply(lambda b, c, p, q: b.select(c, p, q), operands, x.shape)[0]
        return self.lanes.apply(lambda b, c, p, q: b.select(c, p, q), operands)[0]

    def to_register(self, value: Lanes, ptx_type: str, register: str) -> Lanes:
        """Extend a result to its register's width by the signedness of its type; reinterpret where the widths agree."""
        if value.type == register:
            return value
        if IR_BITS[value.type] == IR_BITS[register]:
            return self.reinterpret(value, register)
        if value.type in ("half", "float", "double"):
            value = self.reinterpret(value, f"i{IR_BITS[value.type]}")
        shape = value.shape if value.shape.bases else None
        return self.lanes.apply(lambda b, x: b.resize(x, register, signed=ptx_type[0] == "s"), [value], shape)[0]

    def reinterpret(self, value: Lanes, lane_type: str) -> Lanes:
        if value.type == lane_type:
            return value
        if value.shape.bases and not value.shape.flat:
            value = self.lanes.convert(value, VARYING)
        return self.lanes.apply(lambda b, x: b.cast("bitcast", x, lane_type), [value])[0]

    # -- operands

    def operand(self, operand: Operand, ptx_type: str) -> Lanes:
        """An operand as lane type IR_TYPE[ptx_type]: registers are truncated or reinterpreted as the instruction says."""
        wanted = IR_TYPE[ptx_type]
        if isinstance(operand, Imm):
            return self.lanes.uniform(immediate(operand, wanted))
        if isinstance(operand, Symbol):
            return self.fit(self.memory.symbol(operand), wanted)
        if isinstance(operand, Reg):
            if operand.name in SPECIAL:
                return self.fit(self.special.read(operand.name), wanted)
            return self.fit(self.values.read(operand.name), wanted)
        if isinstance(operand, Negated):
            return self.predicates.inverse(self.operand(operand.register, ptx_type))
        raise Unsupported(f"the operand {operand}")

    def fit(self, value: Lanes, wanted: str) -> Lanes:
        if value.type == wanted:
            return value
        bits = IR_BITS[wanted]
        if IR_BITS[value.type] == bits:
            return self.reinterpret(value, wanted)
        if value.type in ("half", "float", "double"):
            value = self.reinterpret(value, f"i{IR_BITS[value.type]}")
        integer = f"i{bits}"
        narrower = bits < IR_BITS[value.type]          # lane offsets survive cutting, not extension
        shape = value.shape if value.shape.flat or (narrower and value.shape.bases) else None
        if shape is None and value.shape.bases:
            value = self.lanes.convert(value, VARYING)
        value = self.lanes.apply(lambda b, x: b.resize(x, integer), [value], shape)[0]
        return self.reinterpret(value, wanted)
