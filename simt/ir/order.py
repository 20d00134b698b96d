"""Dominators, loops, and the linear order in which a warp's blocks run.

The order is topological but for back edges, and keeps every loop contiguous. The JIT always runs the pending block that
comes first in it (the smallest program counter of the lanes), so lanes that took different ways meet again at the first
common block: reconvergence without a stack.
"""
from __future__ import annotations

import dataclasses

from simt.ir.blocks import Block, Graph


@dataclasses.dataclass(slots=True, eq=False)
class Loop:
    header: Block
    blocks: set[Block]
    exits: list[Block] = dataclasses.field(default_factory=list)    # blocks outside with a predecessor inside


@dataclasses.dataclass(slots=True, eq=False)
class Order:
    """blocks: in linear order, ``block.position`` set; idom / ipdom: immediate (post)dominator or None; loops: outer first.

    irreducible: some loop has two entries; the analyses of divergence do not hold then, and every value counts as varying.
    """

    blocks: list[Block]
    idom: dict[Block, Block | None]
    ipdom: dict[Block, Block | None]
    loops: list[Loop]
    irreducible: bool = False

    def dominates(self, above: Block, below: Block | None) -> bool:
        while below is not None and below is not above:
            below = self.idom[below]
        return below is above


def linearise(graph: Graph) -> Order:
    """Compute the order and set every block's ``position``."""
    order = loop_nest(graph)
    if merge_latches(graph, order.loops):
        order = loop_nest(graph)
    order.ipdom = postdominators(graph.blocks)
    order.blocks = contiguous(graph.entry, order.loops)
    for position, block in enumerate(order.blocks):
        block.position = position
    order.irreducible = any(successor.position <= block.position and not order.dominates(successor, block)
                            for block in order.blocks for successor in block.successors)
    return order


def loop_nest(graph: Graph) -> Order:
    reverse = depth_first(graph.entry, lambda block: block.successors)[::-1]
    order = Order(reverse, dominators(reverse, lambda block: block.predecessors), {}, [])
    order.loops = find_loops(reverse, order)
    return order


def merge_latches(graph: Graph, loops: list[Loop]) -> bool:
    """Give each loop one back edge: lanes that ``continue`` wait in a common last block for the rest of their iteration."""
    changed = False
    for loop in loops:
        latches = [block for block in loop.header.predecessors if block in loop.blocks]
        if len(latches) < 2:
            continue
        changed = True
        common = Block(f"{loop.header.name}.latch", successors=[loop.header], predecessors=latches)
        for latch in latches:
            latch.successors = [common if s is loop.header else s for s in latch.successors]
        loop.header.predecessors = [b for b in loop.header.predecessors if b not in latches] + [common]
        graph.blocks.append(common)
        for outer in loops:
            if loop.header in outer.blocks:
                outer.blocks.add(common)
    return changed


def depth_first(root: Block, successors) -> list[Block]:
    """Postorder, without recursion."""
    seen, done, stack = {root}, [], [(root, iter(successors(root)))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successors(successor))))
                break
        else:
            done.append(block)
            stack.pop()
    return done


def dominators(reverse_postorder: list[Block], predecessors) -> dict[Block, Block | None]:
    """Immediate dominators (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", 2001)."""
    number = {block: index for index, block in enumerate(reverse_postorder)}
    root = reverse_postorder[0]
    idom: dict[Block, Block | None] = {root: root}

    def meet(x: Block, y: Block) -> Block:
        while x is not y:
            while number[x] > number[y]:
                x = idom[x]
            while number[y] > number[x]:
                y = idom[y]
        return x

    changed = True
    while changed:
        changed = False
        for block in reverse_postorder[1:]:
            new = None
            for predecessor in predecessors(block):
                if predecessor in idom:
                    new = predecessor if new is None else meet(predecessor, new)
            if idom.get(block) is not new:
                idom[block] = new
                changed = True
    idom[root] = None
    return idom


def postdominators(blocks: list[Block]) -> dict[Block, Block | None]:
    """Immediate postdominators; None where only the end of the kernel is common. Endless loops get an edge to the end."""
    end = Block("end")
    into: dict[Block, list[Block]] = {block: list(block.predecessors) for block in blocks}
    out: dict[Block, list[Block]] = {block: list(block.successors) for block in blocks}
    into[end] = [block for block in blocks if not block.successors]
    out[end] = []
    for block in into[end]:
        out[block] = [end]
    reached = set(depth_first(end, lambda block: into[block]))
    for block in blocks:                    # a loop without exit never reaches the end: pretend that it might
        if block not in reached:
            into[end].append(block)
            out[block].append(end)
            reached |= set(depth_first(block, lambda inner: into[inner]))
    reverse = depth_first(end, lambda block: into[block])[::-1]
    ipdom = dominators(reverse, lambda block: out[block])
    return {block: None if ipdom[block] is end else ipdom[block] for block in blocks}


def find_loops(reverse_postorder: list[Block], order: Order) -> list[Loop]:
    loops: dict[Block, Loop] = {}
    for block in reverse_postorder:
        for successor in block.successors:
            if order.dominates(successor, block):
                loop = loops.setdefault(successor, Loop(successor, {successor}))
                work = [block]
                while work:
                    inner = work.pop()
                    if inner not in loop.blocks:
                        loop.blocks.add(inner)
                        work.extend(inner.predecessors)
    for loop in loops.values():
        targets = {s for inner in loop.blocks for s in inner.successors if s not in loop.blocks}
        loop.exits = [block for block in reverse_postorder if block in targets]
    return sorted(loops.values(), key=lambda loop: -len(loop.blocks))


def contiguous(entry: Block, loops: list[Loop]) -> list[Block]:
    """Reverse postorder in which each loop's blocks stand together: ways out of a loop are visited first, so they end last."""
    depth: dict[Block, list[Loop]] = {}
    for loop in loops:
        for block in loop.blocks:
            depth.setdefault(block, []).append(loop)

    def successors(block: Block) -> list[Block]:
        inside = depth.get(block, ())
        return sorted(block.successors, key=lambda successor: sum(successor in loop.blocks for loop in inside))

    order = depth_first(entry, successors)[::-1]
    for loop in loops:
        places = [index for index, block in enumerate(order) if block in loop.blocks]
        if places[-1] - places[0] + 1 != len(places):
            first = places[0]
            tail = order[first:]
            order = (order[:first] + [b for b in tail if b in loop.blocks] + [b for b in tail if b not in loop.blocks])
    return order
