"""Values that depend on the thread's place in the block alone, worked out for every thread while compiling.

A kernel is specialised on its block shape, so ``tid.x % 16 * 8`` is one known number per thread. Known numbers give exact
shapes and ranges to index arithmetic that no algebra of offsets could follow (division, remainder, bit tricks).
"""
from __future__ import annotations

from simt.ir.blocks import Graph, Node
from simt.ir.order import Order
from simt.ir.ranges import signed
from simt.ir.shapes import SEGMENT, VARYING, WARP, Shape
from simt.isa.table import bits_of
from simt.ptx.statements import Imm, Operand, Reg

KINDS = frozenset({"int", "imul", "logic", "convert"})
LIMIT = 400                 # instructions worked out per kernel: enough for index arithmetic, small beside NVVM's own time


def thread_index(block_shape: tuple[int, int, int], axis: str, linear: int) -> int:
    """tid.axis of the thread with this linear index; threads past the block's end continue the pattern."""
    x, y, _ = (max(extent, 1) for extent in block_shape)
    return {"x": linear % x, "y": linear // x % y, "z": linear // (x * y)}[axis]


def thread_count(block_shape: tuple[int, int, int]) -> int:
    x, y, z = (max(extent, 1) for extent in block_shape)
    return x * y * z


def pattern_shape(values: tuple[int, ...], count: int, bits: int) -> Shape:
    """Shape of one number per thread (``count`` exist): affine where every warp shows the same pattern of differences, else
    segmented where every half warp does."""
    for bases, width in ((1, WARP), (2, SEGMENT)):
        patterns = set()
        for start in range(0, count, width):
            offsets = tuple(signed(values[start + lane] - values[start], bits) for lane in range(width))
            patterns.add((offsets[:min(width, count - start)], offsets))
        longest = max(patterns, key=lambda pattern: len(pattern[0]))
        if all(longest[1][: len(head)] == head for head, _ in patterns):
            return Shape(bases, longest[1] * (WARP // width))
    return VARYING


class Known:
    """``values[name]``: unsigned numbers by linear thread index, padded to whole warps."""

    def __init__(self, graph: Graph, order: Order, block_shape: tuple[int, int, int]):
        self.graph, self.block_shape = graph, block_shape
        self.count = thread_count(block_shape)
        self.threads = range(-(-self.count // WARP) * WARP)
        self.values: dict[str, tuple[int, ...]] = {}
        for block in order.blocks:
            for node in block.nodes:
                if len(self.values) < LIMIT and self.is_candidate(node):
                    self.work_out(node)

    def is_candidate(self, node: Node) -> bool:
        return node.row.level == "lane" and node.row.kind in KINDS and not node.guard and len(node.results) == 1 \
            and all(t[0] in "subp" for t in (*node.row.operand_types(node.form), *node.row.result_types(node.form)))

    def work_out(self, node: Node) -> None:
        types = node.row.operand_types(node.form)
        columns = [self.of(operand, bits_of(t)) for operand, t in zip(node.operands, types, strict=True)]
        if None in columns or not any(isinstance(operand, Reg) for operand in node.operands):
            return
        found: dict[tuple, int] = {}
        try:
            for row in set(zip(*columns, strict=True)):
                results = node.row.oracle(node.form, *row)
                found[row] = int(results[0] if isinstance(results, tuple) else results)     # setp: the complement is unused
        except (ArithmeticError, ValueError):
            return
        widen = self.widener(node)
        self.values[node.results[0]] = tuple(widen(found[row]) for row in zip(*columns, strict=True))

    def widener(self, node: Node):
        """A result narrower than its register is extended by the signedness of its type."""
        result = node.row.result_types(node.form)[0]
        bits, wide = bits_of(result), bits_of(self.graph.register_type(node.results[0]))
        if result[0] == "s" and bits < wide:
            return lambda value: signed(value, bits) & ((1 << wide) - 1)
        return lambda value: value & ((1 << bits) - 1)

    def of(self, operand: Operand, bits: int) -> tuple[int, ...] | None:
        mask = (1 << bits) - 1
        if isinstance(operand, Imm) and not operand.float_width:
            return (operand.bits & mask,) * len(self.threads)
        if not isinstance(operand, Reg):
            return None
        values = self.values.get(operand.name) or self.special(operand.name)
        return None if values is None else tuple(value & mask for value in values)

    def special(self, name: str) -> tuple[int, ...] | None:
        stem, _, axis = name[1:].partition(".")
        if stem == "tid":
            return tuple(thread_index(self.block_shape, axis, linear) for linear in self.threads)
        if stem == "ntid":
            return (self.block_shape["xyz".index(axis)],) * len(self.threads)
        if stem == "laneid":
            return tuple(linear % WARP for linear in self.threads)
        return None

    def shape(self, name: str) -> Shape | None:
        """Exact shape of a known register."""
        values = self.values.get(name)
        if values is None:
            return None
        return pattern_shape(values, self.count, bits_of(self.graph.register_type(name)))

    def range(self, name: str) -> tuple[int, int] | None:
        values = self.values.get(name)
        bits = bits_of(self.graph.register_type(name)) if values else 1
        if values is None or bits == 1:
            return None
        numbers = [signed(value, bits) for value in values[: self.count]]
        return min(numbers), max(numbers)
