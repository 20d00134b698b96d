"""Value ranges: an interval that holds a register's signed value in every lane, where one is known.

They prove that 32-bit index arithmetic does not wrap, and make Numba's fix-up of negative indices (shr 63, and) fold away.
One pass in linear order; a loop's phis are unknown, but for 64-bit counters that only rise.
"""
from __future__ import annotations

from collections.abc import Callable

from simt.ir.blocks import Graph, Node
from simt.ir.order import Order
from simt.ir.ssa import Values
from simt.isa.table import bits_of
from simt.ptx.statements import Imm, Operand, Reg

Range = tuple[int, int]
COUNTER_LIMIT = 2**62       # no loop gets here: at a step of 2**20 every nanosecond it would take more than an hour, and real
COUNTER_STEP = 2**20        # steps are small; the code stays inside its checked memory even if one did
GRID_LIMIT = {"x": 2**31 - 1, "y": 65535, "z": 65535}      # CUDA C++ Programming Guide, "Technical Specifications"


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def fits(low: int, high: int, bits: int) -> Range | None:
    """The interval, if no value in it wraps in ``bits`` bits signed."""
    return (low, high) if -(1 << (bits - 1)) <= low <= high < (1 << (bits - 1)) else None


def special_range(name: str, block_shape: tuple[int, int, int]) -> Range | None:
    """Range of a special register for a kernel specialised on its block shape (x, y, z in threads)."""
    if name == "%laneid":
        return (0, 31)
    stem, _, axis = name[1:].partition(".")
    if axis and stem in ("tid", "ntid"):
        extent = block_shape["xyz".index(axis)]
        return (0, max(extent, 1) - 1) if stem == "tid" else (extent, extent)
    if axis and stem in ("ctaid", "nctaid"):
        return (0, GRID_LIMIT[axis])
    return None


class Ranges:
    """``ranges[name]`` by SSA name; ``of(operand, bits)`` for any operand."""

    def __init__(self, graph: Graph, order: Order, values: Values, exact):
        """exact: the Known values, whose ranges need no rule."""
        self.block_shape, self.exact, self.nodes = exact.block_shape, exact, values.node
        self.known: dict[str, Range] = {}
        counters = self.start_values(order)
        while True:
            self.known = dict(counters)
            self.run(graph, order)
            held = {name: found for name, found in counters.items() if self.rises(name, order)}
            if len(held) == len(counters):
                break
            counters = held

    def run(self, graph: Graph, order: Order) -> None:
        headers = {loop.header for loop in order.loops}
        for block in order.blocks:
            if block not in headers:
                for phi in block.phis:
                    self.set(phi.result, join([self.known.get(name) for name in phi.incoming.values()]))
            for node in block.nodes:
                self.visit(node, graph)

    def start_values(self, order: Order) -> dict[str, Range]:
        """64-bit loop counters that begin at a constant >= 0, taken to lie between it and COUNTER_LIMIT until disproved."""
        found = {}
        for loop in order.loops:
            for phi in loop.header.phis:
                first = [name for block, name in phi.incoming.items() if block not in loop.blocks]
                low = self.constant_of(first[0]) if len(first) == 1 else None
                if low is not None and low >= 0:
                    found[phi.result] = (low, COUNTER_LIMIT)
        return found

    def constant_of(self, name: str | None) -> int | None:
        node = self.nodes.get(name)
        if not isinstance(node, Node) or node.guard or node.opcode not in ("mov.u64", "mov.s64", "mov.b64"):
            return None
        operand = node.operands[0]
        return signed(operand.bits, 64) if isinstance(operand, Imm) and not operand.float_width else None

    def rises(self, name: str, order: Order) -> bool:
        """Each round adds a little or nothing: then COUNTER_LIMIT is centuries away."""
        for loop in order.loops:
            for phi in loop.header.phis:
                if phi.result == name:
                    low, high = self.known[name]
                    again = [self.known.get(n) for block, n in phi.incoming.items() if block in loop.blocks]
                    return all(r is not None and r[0] >= low and r[1] <= high + COUNTER_STEP for r in again)
        return False

    def of(self, operand: Operand, bits: int) -> Range | None:
        if isinstance(operand, Imm) and not operand.float_width:
            value = signed(operand.bits, bits)
            return (value, value)
        if isinstance(operand, Reg):
            found = self.known.get(operand.name) or special_range(operand.name, self.block_shape)
            return fits(*found, bits) if found else None        # a wider register may be read in part
        return None

    def constant(self, operand: Operand, bits: int) -> int | None:
        found = self.of(operand, bits)
        return found[0] if found and found[0] == found[1] else None

    def fixed(self, name: str) -> int | None:
        """The one value that a register holds in every lane, where its range has shrunk to it."""
        found = self.known.get(name)
        return found[0] if found and found[0] == found[1] else None

    def set(self, name: str, found: Range | None) -> None:
        if found is not None:
            self.known[name] = found

    def visit(self, node: Node, graph: Graph) -> None:
        if len(node.results) == 1 and (exact := self.exact.range(node.results[0])) is not None:
            self.known[node.results[0]] = exact
            return
        rule = RULES.get(getattr(node.row, "rule", ""))
        if rule is None or node.guard or len(node.results) != 1:
            return
        if graph.register_type(node.results[0]) == "pred":
            return
        types = node.row.operand_types(node.form)
        operands = [self.of(operand, bits_of(ptx_type)) for operand, ptx_type in zip(node.operands, types, strict=False)]
        result = node.row.result_types(node.form)[0]
        found = rule(node, operands, bits_of(result))
        if found is None or not fits(*found, bits_of(result)):
            return
        if found[0] >= 0 or result[0] == "s" or bits_of(result) == bits_of(graph.register_type(node.results[0])):
            self.known[node.results[0]] = found         # else zeros above a negative number make it another one


def join(ranges: list[Range | None]) -> Range | None:
    if not ranges or None in ranges:
        return None
    return min(r[0] for r in ranges), max(r[1] for r in ranges)


def corners(combine: Callable[[int, int], int]) -> Callable:
    def rule(node: Node, operands: list, bits: int) -> Range | None:
        if operands[0] is None or operands[1] is None:
            return None
        values = [combine(x, y) for x in operands[0] for y in operands[1]]
        return min(values), max(values)
    return rule


def multiply_add(node: Node, operands: list, bits: int) -> Range | None:
    product = MULTIPLY(node, operands, bits)
    if product is None or operands[2] is None or fits(*product, bits) is None:
        return None
    return product[0] + operands[2][0], product[1] + operands[2][1]


def shift_left(node: Node, operands: list, bits: int) -> Range | None:
    if operands[0] is None or operands[1] is None or operands[1][0] != operands[1][1] or not 0 <= operands[1][0] < bits:
        return None
    return operands[0][0] << operands[1][0], operands[0][1] << operands[1][0]


def shift_right(node: Node, operands: list, bits: int) -> Range | None:
    if operands[0] is None or operands[0][0] < 0 or operands[1] is None or operands[1][0] != operands[1][1]:
        return None
    shift = min(operands[1][0] & 0xFFFFFFFF, bits)
    return operands[0][0] >> shift, operands[0][1] >> shift


def mask(node: Node, operands: list, bits: int) -> Range | None:
    """x & y for non-negative x: at most x, and at most y where y is not negative either."""
    tops = [r[1] for r in operands[:2] if r is not None and r[0] >= 0]
    return (0, min(tops)) if tops else None


def same(node: Node, operands: list, bits: int) -> Range | None:
    return operands[0]


def widen(node: Node, operands: list, bits: int) -> Range | None:
    """Integer conversion: the value survives sign extension, and zero extension where it is not negative."""
    unsigned = node.form.type[0] in "ub"
    if operands[0] is None or (unsigned and operands[0][0] < 0):
        return None
    return operands[0]


def choose(node: Node, operands: list, bits: int) -> Range | None:
    return join(operands[:2])


def signed_only(combine: Callable) -> Callable:
    def rule(node: Node, operands: list, bits: int) -> Range | None:
        if operands[0] is None or operands[1] is None:
            return None
        if node.form.type[0] != "s" and (operands[0][0] < 0 or operands[1][0] < 0):
            return None
        return combine(operands[0][0], operands[1][0]), combine(operands[0][1], operands[1][1])
    return rule


def narrow(node: Node, operands: list, bits: int) -> Range | None:
    return operands[0] if operands[0] and fits(*operands[0], bits) else None


def widening(combine: Callable) -> Callable:
    """Products of unsigned operands are those of the signed values only where none is negative."""
    def rule(node: Node, operands: list, bits: int) -> Range | None:
        if node.form.type[0] == "u" and any(r is None or r[0] < 0 for r in operands[:2]):
            return None
        return combine(node, operands, bits)
    return rule


MULTIPLY = corners(lambda x, y: x * y)
RULES: dict[str, Callable] = {
    "add": corners(lambda x, y: x + y),
    "sub": lambda node, r, bits: None if r[0] is None or r[1] is None else (r[0][0] - r[1][1], r[0][1] - r[1][0]),
    "neg": lambda node, r, bits: None if r[0] is None else (-r[0][1], -r[0][0]),
    "mul": MULTIPLY, "mulwide": widening(MULTIPLY), "mad": multiply_add, "madwide": widening(multiply_add),
    "shl": shift_left, "shr": shift_right, "and": mask, "copy": same, "extend": widen, "truncate": narrow,
    "select": choose, "min": signed_only(min), "max": signed_only(max),
}
