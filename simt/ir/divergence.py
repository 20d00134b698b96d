"""Which branches split a warp, what that does to the shapes of values, and which blocks can be pending when.

Divergence reaches values in two ways. Where lanes that went different ways meet, phis vary. Where a loop is left by some
lanes before others (temporal divergence), a value defined inside and used outside comes from different iterations; its
definition then writes only the active lanes.
"""
from __future__ import annotations

import dataclasses

from simt.ir.blocks import SPECIAL, Block, Graph, Node
from simt.ir.known import Known, pattern_shape, thread_count, thread_index
from simt.ir.order import Loop, Order
from simt.ir.ranges import Ranges
from simt.ir.shapes import UNIFORM, VARYING, WARP, Shape, elementwise, meet
from simt.ir.ssa import Values
from simt.ir.waits import come_apart
from simt.isa.table import bits_of
from simt.ptx.statements import Address, Negated, Operand, Reg, Vector


@dataclasses.dataclass(slots=True, eq=False)
class Shapes:
    """The result of the analysis.

    of_value:  SSA name -> Shape
    divergent: blocks whose branch may split the warp
    masked:    SSA names whose definition writes active lanes only (temporal divergence)
    pending:   block -> blocks that may hold waiting lanes while it runs (itself not included)
    shared:    blocks that may run while other lanes of the warp wait, at a block or parked at a barrier: writes need a mask
    apart:     blocks that come after a place where lanes wait for others: lanes may be there at any time, in any combination
    """

    of_value: dict[str, Shape]
    divergent: set[Block]
    masked: set[str]
    pending: dict[Block, set[Block]]
    shared: set[Block]
    apart: set[Block]
    block_shape: tuple[int, int, int]

    def of(self, operand: Operand) -> Shape:
        if isinstance(operand, Reg):
            if operand.name in self.of_value:
                return self.of_value[operand.name]
            return special_shape(operand.name, self.block_shape) if operand.name in SPECIAL else UNIFORM
        if isinstance(operand, Negated):
            return self.of(operand.register)
        if isinstance(operand, Address):
            return self.of(operand.base)
        if isinstance(operand, Vector):
            found = UNIFORM
            for item in operand.items:
                found = meet(found, self.of(item))
            return found
        return UNIFORM


def analyse(graph: Graph, order: Order, values: Values, ranges: Ranges, known: Known) -> Shapes:
    block_shape = known.block_shape
    analysis = _Analysis(graph, order, values, ranges, known)
    if order.irreducible:
        analysis.masked = set(values.block)
        analysis.divergent = {block for block in order.blocks if block.branch is not None}
    apart = set(come_apart(order.blocks))
    while True:
        analysis.solve()
        pending = pending_blocks(order, analysis.divergent)
        beside = beside_parked(order, pending, apart) | apart
        kept = kept_across_barriers(order, values, pending)
        if apart:
            kept |= crossing_from(beside, order, values)
        if kept <= analysis.masked:
            break
        analysis.masked |= kept
    shared = {block for block, waiting in pending.items() if waiting} | beside
    of_value = {name: analysis.known.get(name) or UNIFORM for name in values.block}
    return Shapes(of_value, analysis.divergent, analysis.masked, pending, shared, apart, block_shape)


def special_shape(name: str, block_shape: tuple[int, int, int]) -> Shape:
    """Shape of a special register."""
    if name == "%laneid":
        return Shape(1, tuple(range(WARP)))
    stem, _, axis = name[1:].partition(".")
    if stem == "tid":
        return thread_shape(block_shape, axis)
    return VARYING if stem.startswith("lanemask") else UNIFORM


def thread_shape(block_shape: tuple[int, int, int], axis: str) -> Shape:
    count = thread_count(block_shape)
    values = tuple(thread_index(block_shape, axis, linear) for linear in range(-(-count // WARP) * WARP))
    return pattern_shape(values, count, 32)


WARP_SHAPES = {
    "varying": lambda operands: VARYING,
    "uniform": lambda operands: UNIFORM,
    "copy": lambda operands: operands[0],
    "address": lambda operands: Shape(operands[0].bases) if operands[0].flat else VARYING,
}


class _Analysis:
    def __init__(self, graph: Graph, order: Order, values: Values, ranges: Ranges, known: Known):
        self.graph, self.order, self.values, self.ranges = graph, order, values, ranges
        self.block_shape = known.block_shape
        self.known_shapes = {name: known.shape(name) for name in known.values}
        self.known: dict[str, Shape] = {}
        self.divergent: set[Block] = set()
        self.masked: set[str] = set()
        self.split_phis: set[str] = set()

    def solve(self) -> None:
        """Optimistic iteration: shapes only ever get less precise."""
        changed = True
        while changed:
            changed = False
            for block in self.order.blocks:
                for phi in block.phis:
                    changed |= self.lower(phi.result, self.phi_shape(phi))
                for node in block.nodes:
                    changed |= self.visit(node)
                if block.terminator is not None and block.barrier is not None:
                    changed |= self.visit(block.terminator)
                changed |= self.check_branch(block)

    def lower(self, name: str, shape: Shape | None) -> bool:
        if name in self.masked or name in self.split_phis:
            shape = VARYING
        old = self.known.get(name)
        new = meet(old, shape)
        if new == old:
            return False
        self.known[name] = new
        return True

    def phi_shape(self, phi) -> Shape | None:
        found = None
        for name in phi.incoming.values():
            found = meet(found, self.of_name(name))
        return found

    def of_name(self, name: str) -> Shape | None:
        """None while unknown. What nothing defines reads as zero in every lane."""
        return self.known.get(name) if name in self.values.block else UNIFORM

    def of(self, operand: Operand) -> Shape | None:
        """None while unknown."""
        if isinstance(operand, Reg):
            if operand.name in SPECIAL:
                return special_shape(operand.name, self.block_shape)
            return self.of_name(operand.name)
        if isinstance(operand, Negated):
            return self.of(operand.register)
        if isinstance(operand, Address):
            return self.of(operand.base)
        if isinstance(operand, Vector):
            shapes = [self.of(item) for item in operand.items]
            if None in shapes:
                return None
            found = UNIFORM
            for shape in shapes:
                found = meet(found, shape)
            return found
        return UNIFORM

    def visit(self, node: Node) -> bool:
        if not node.results:
            return False
        operands = [self.of(operand) for operand in node.operands]
        if None in operands:
            return False
        shapes = self.result_shapes(node, operands)
        if node.guard:
            flat = all(operand.flat for operand in operands)
            shapes = [self.guarded(node, name, shape if flat else VARYING)
                      for name, shape in zip(node.results, shapes, strict=True)]
        changed = False
        for name, shape in zip(node.results, shapes, strict=True):
            if name in self.values.block:
                changed |= self.lower(name, shape)
        return changed

    def result_shapes(self, node: Node, operands: list[Shape]) -> list[Shape]:
        row = node.row
        if row.level == "warp":
            return [WARP_SHAPES[row.shape](operands)] * len(node.results)
        if len(node.results) == 1 and self.ranges.fixed(node.results[0]) is not None:
            return [UNIFORM]
        if len(node.results) == 1 and node.results[0] in self.known_shapes:
            return [self.storable(node.results[0], self.known_shapes[node.results[0]], None)]
        types = [bits_of(ptx_type) for ptx_type in row.result_types(node.form)]
        return [self.storable(name, elementwise(node, operands, self.ranges, bits), bits)
                for name, bits in zip(node.results, types, strict=False)]

    def storable(self, name: str, shape: Shape, bits: int | None) -> Shape:
        """Lane offsets hold in integer registers of the result's width: extension may wrap, floats have no such sums."""
        if shape.flat or name == "_":
            return shape
        register = self.graph.register_type(name)
        return VARYING if register[0] == "f" or bits not in (None, bits_of(register)) else shape

    def guarded(self, node: Node, name: str, shape: Shape) -> Shape | None:
        """A guarded write: the new value in some lanes, the old one in the others."""
        guard = self.known.get(node.guard, UNIFORM)
        joined = meet(shape, self.of_name(node.previous[name]))
        if not guard.flat or not joined.flat:
            return VARYING
        return Shape(max(guard.bases, joined.bases))

    def check_branch(self, block: Block) -> bool:
        node = block.branch
        if node is None or block in self.divergent:
            return False
        guard = self.known.get(node.guard)
        if guard is None or guard == UNIFORM:
            return False
        self.divergent.add(block)
        self.split(block.successors, self.order.ipdom[block])
        for loop in self.order.loops:
            if block in loop.blocks and self.order.ipdom[block] not in loop.blocks:
                self.leave(loop, block)
        return True

    def split(self, starts: list[Block], end: Block | None) -> None:
        """Mark the phis where lanes that began in different ``starts`` meet, up to ``end``."""
        label = {start: start for start in starts}
        work = {start for start in starts if start is not end}
        joins = {end} if end is not None else set()
        while work:
            block = min(work, key=lambda b: b.position)
            work.discard(block)
            for successor in block.successors:
                known = label.get(successor)
                if known is None:
                    label[successor] = label[block]
                elif known is not label[block] and successor not in joins:
                    joins.add(successor)
                    label[successor] = successor
                else:
                    continue
                if successor is not end and successor.position > block.position:
                    work.add(successor)
        for block in joins:
            self.split_phis.update(phi.result for phi in block.phis)

    def leave(self, loop: Loop, block: Block) -> None:
        """Lanes leave this loop in different iterations."""
        self.split(loop.exits, self.order.ipdom[block])
        for target in loop.exits:
            outside = set(self.values.live_in[target])
            for phi in target.phis:
                outside |= {name for source, name in phi.incoming.items() if source in loop.blocks and name}
                if len(phi.incoming) > 1:
                    self.split_phis.add(phi.result)
            self.masked |= {name for name in outside if self.values.block.get(name) in loop.blocks}


def pending_blocks(order: Order, divergent: set[Block]) -> dict[Block, set[Block]]:
    """For each block, the blocks that can hold waiting lanes while it runs: a fixed point over the ways through the order."""
    again = {block for block in order.blocks if goes_again(block)}
    pending: dict[Block, set[Block]] = {block: later(again, block) for block in again} | {order.blocks[0]: set()}
    work = list(pending)
    while work:
        block = work.pop()
        for target, others in ways_on(block, pending[block], divergent):
            if target not in pending or not others <= pending[target]:
                pending[target] = pending.get(target, set()) | others
                work.append(target)
    return pending


def goes_again(block: Block) -> bool:
    """Lanes go on here once no other lane runs: at the start of a waiting loop, or at a collective that some came to early."""
    return block.parks or any(before.waits for before in block.predecessors)


def ways_on(block: Block, waiting: set[Block], divergent: set[Block]) -> list[tuple[Block, set[Block]]]:
    """(block that may run next, blocks that then still hold waiting lanes)."""
    found = []
    if block.waits or block.parks:          # the lanes wait until no other one runs
        found = [(target, later(waiting, target)) for target in waiting]
    return found if block.waits else found + ways_out(block, waiting, divergent)


def ways_out(block: Block, waiting: set[Block], divergent: set[Block]) -> list[tuple[Block, set[Block]]]:
    """The same for lanes that run a block to its end."""
    if block.barrier is not None:           # the lanes are parked until no other lane waits; then they go on alone
        resumed = [(successor, set()) for successor in block.successors if not successor.is_exit]
        return resumed + [(target, later(waiting, target)) for target in waiting]
    if block in divergent or not block.successors:
        after = waiting | {s for s in block.successors if not s.is_exit}
        return [(target, later(after, target)) for target in after]
    found = []
    for successor in block.successors:
        if successor.is_exit:
            found += [(target, later(waiting, target)) for target in waiting]
        else:
            after = waiting | {successor}
            found += [(target, later(after, target)) for target in after if target.position <= successor.position]
    return found


def later(blocks: set[Block], target: Block) -> set[Block]:
    return {block for block in blocks if block.position > target.position}


def kept_across_barriers(order: Order, values: Values, pending: dict[Block, set[Block]]) -> set[str]:
    """Values that lanes parked at a barrier need later, while other lanes of their warp run on: never overwritten whole."""
    kept: set[str] = set()
    for block in order.blocks:
        if block.barrier is not None and pending.get(block):
            for successor in block.successors:
                kept |= {name for name in values.live_in[successor] if name in values.block}
                kept |= {phi.incoming[block] for phi in successor.phis if phi.incoming.get(block)}
    return kept


def crossing_from(blocks: set[Block], order: Order, values: Values) -> set[str]:
    """Values of these blocks that others read, and all their phis."""
    read = set().union(*values.live_in.values())
    read |= {name for block in order.blocks for phi in block.phis for name in (phi.result, *phi.incoming.values())}
    return {name for name in read if values.block.get(name) in blocks}


def beside_parked(order: Order, pending: dict[Block, set[Block]], apart: set[Block]) -> set[Block]:
    """Blocks that can run while lanes of the same warp are parked: at a barrier, in a waiting loop, before a collective."""
    found: set[Block] = set()
    for block in order.blocks:
        if block.barrier is not None or block in apart:
            work = list(pending.get(block, ()))
            while work:
                inner = work.pop()
                if inner not in found:
                    found.add(inner)
                    work.extend(inner.successors)
    return found
