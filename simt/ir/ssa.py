"""Static single assignment: every register gets one definition per name, and phis where ways meet."""
from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict

from simt.ir.blocks import Block, Graph, Node, Phi, is_register
from simt.ir.order import Order
from simt.ptx.statements import Address, Negated, Operand, Pair, Reg, Vector


@dataclasses.dataclass(slots=True, eq=False)
class Values:
    """Where each SSA name is defined, and what is alive where.

    block: SSA name -> defining block;  node: SSA name -> defining Node or Phi
    live_in: SSA names that a block (or one after it) reads before it defines them; a block's own phi results not included
    """

    block: dict[str, Block]
    node: dict[str, Node | Phi]
    live_in: dict[Block, set[str]]


def convert(graph: Graph, order: Order) -> Values:
    """Rename in place to pruned SSA. A register that is read before any write keeps its own name there; nothing defines it,
    and it reads as zero."""
    definitions: dict[str, list[Block]] = defaultdict(list)
    live = register_liveness(order)
    for block in order.blocks:
        for node in nodes_of(block):
            for name in node.results:
                if is_register(name):
                    definitions[name].append(block)
    for name in live[order.blocks[0]]:          # read before any write on some way: there it is the zero of the kernel's start
        definitions[name].append(order.blocks[0])
    place_phis(order, definitions, live)
    values = Values({}, {}, {})
    _Renamer(order, definitions, values).run()
    values.live_in = value_liveness(order)
    return values


def nodes_of(block: Block) -> list[Node]:
    return block.nodes if block.terminator is None else [*block.nodes, block.terminator]


def register_liveness(order: Order) -> dict[Block, set[str]]:
    reads, writes = {}, {}
    for block in order.blocks:
        read, written = set(), set()
        for node in nodes_of(block):
            used = node.uses() + (node.results if node.guard else [])
            read |= {name for name in used if name not in written}
            written |= set(node.results)
        reads[block], writes[block] = read, written
    return solve_liveness(order, reads, writes, {})


def value_liveness(order: Order) -> dict[Block, set[str]]:
    reads, writes = {}, {}
    along: dict[Block, set[str]] = defaultdict(set)     # what a block hands to the phis of its successors
    for block in order.blocks:
        read, written = set(), {phi.result for phi in block.phis}
        for node in nodes_of(block):
            read |= {name for name in node.uses() if name not in written}
            written |= set(node.results)
        reads[block], writes[block] = read, written
        for phi in block.phis:
            for predecessor, name in phi.incoming.items():
                if name:
                    along[predecessor].add(name)
    return solve_liveness(order, reads, writes, along)


def solve_liveness(order: Order, reads: dict, writes: dict, along: dict) -> dict[Block, set[str]]:
    live: dict[Block, set[str]] = {block: set() for block in order.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(order.blocks):
            after = set(along.get(block, ()))
            for successor in block.successors:
                after |= live[successor]
            new = reads[block] | (after - writes[block])
            if new != live[block]:
                live[block] = new
                changed = True
    return live


def dominance_frontier(order: Order) -> dict[Block, set[Block]]:
    frontier: dict[Block, set[Block]] = {block: set() for block in order.blocks}
    for block in order.blocks:
        if len(block.predecessors) > 1:
            for predecessor in block.predecessors:
                runner = predecessor
                while runner is not order.idom[block]:
                    frontier[runner].add(block)
                    runner = order.idom[runner]
    return frontier


def place_phis(order: Order, definitions: dict[str, list[Block]], live: dict[Block, set[str]]) -> None:
    frontier = dominance_frontier(order)
    for name, blocks in definitions.items():
        if len(blocks) < 2:
            continue
        work, placed = list(blocks), set()
        while work:
            for block in frontier[work.pop()]:
                if block not in placed and name in live[block]:
                    placed.add(block)
                    block.phis.append(Phi(name, {}))
                    work.append(block)


class _Renamer:
    """Walks the dominator tree and gives each definition its own name; the first keeps the register's."""

    def __init__(self, order: Order, definitions: dict[str, list[Block]], values: Values):
        self.order, self.values = order, values
        self.single = {name for name, blocks in definitions.items() if len(blocks) == 1}
        self.count: Counter[str] = Counter()
        self.children: dict[Block, list[Block]] = defaultdict(list)
        for block in order.blocks:
            if order.idom[block] is not None:
                self.children[order.idom[block]].append(block)

    def run(self) -> None:
        registers = {phi: phi.result for block in self.order.blocks for phi in block.phis}
        leaving: dict[Block, dict[str, str]] = {}
        work = [(self.order.blocks[0], {})]
        while work:
            block, names = work.pop()
            names = dict(names)
            for phi in block.phis:
                phi.result = names[registers[phi]] = self.fresh(registers[phi], block, phi)
            for node in nodes_of(block):
                self.rename(node, block, names)
            leaving[block] = names
            work += [(child, names) for child in self.children[block]]
        for block in self.order.blocks:
            for phi in block.phis:
                phi.incoming = {p: leaving[p].get(registers[phi], registers[phi]) for p in block.predecessors}

    def rename(self, node: Node, block: Block, names: dict[str, str]) -> None:
        node.operands = [renamed(operand, names) for operand in node.operands]
        if node.guard:
            node.previous = {}
        results = []
        for name in node.results:
            if not is_register(name):
                results.append(name)
                continue
            fresh = self.fresh(name, block, node)
            if node.guard:
                node.previous[fresh] = names.get(name, name)
            results.append(fresh)
        if node.guard:
            node.guard = names.get(node.guard, node.guard)
        for name, fresh in zip(node.results, results, strict=True):
            names[name] = fresh
        node.results = results

    def fresh(self, name: str, block: Block, node: Node | Phi) -> str:
        self.count[name] += 1
        fresh = name if name in self.single else f"{name}.{self.count[name]}"
        self.values.block[fresh] = block
        self.values.node[fresh] = node
        return fresh


def renamed(operand: Operand, names: dict[str, str]) -> Operand:
    if isinstance(operand, Reg):
        return Reg(names.get(operand.name, operand.name))
    if isinstance(operand, Negated):
        return Negated(renamed(operand.register, names))
    if isinstance(operand, Address):
        return Address(renamed(operand.base, names), operand.offset)
    if isinstance(operand, Vector):
        return Vector(tuple(renamed(item, names) for item in operand.items))
    if isinstance(operand, Pair):
        return Pair(renamed(operand.first, names), renamed(operand.second, names))
    return operand
