"""Loops in which a thread waits for another one: ``while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass``.

Whether such a loop is left depends on memory alone: no number that it carries from round to round takes part. If it writes
memory too, what it looks at must be atomic or volatile, or it may be its own writes that end it.

On the device (compute capability 7.0 and later) every thread makes progress, so one that the loop waits for may be a lane of
the same warp, or another warp of the block. The loop therefore gets a block of its own on the way back, where lanes let all
others run before they look again (simt/jit/turns.py).
"""
from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Set as AbstractSet

from simt.ir.blocks import Block, Graph, Node, is_meeting
from simt.ir.order import Loop, Order, depth_first
from simt.ir.ssa import nodes_of, register_liveness
from simt.ptx.statements import Imm

WRITES = ("st", "red", "call")
ORDERED = ("volatile", "relaxed", "acquire")
SAME_AGAIN = frozenset({"cas", "exch", "and", "or", "min", "max"})     # atomics that change nothing when done a second time


def insert_waits(graph: Graph, order: Order) -> bool:
    """Give each waiting loop its block; True if there was one, and then the order has to be made anew.

    Lanes that have been let go ahead may stand at a collective before the others: they can wait at each that comes after.
    """
    candidates = [loop for loop in order.loops if may_wait(loop)]
    if not candidates:
        return False
    live = register_liveness(order)
    waiting = [loop for loop in candidates if waits(loop, live[loop.header])]
    for loop in waiting:
        insert_before(graph, loop.header, [block for block in loop.header.predecessors if block in loop.blocks])
    park_at_meetings(graph, {node for block in come_apart(graph.blocks) for node in block.nodes})
    return bool(waiting)


def park_at_meetings(graph: Graph, nodes: AbstractSet[Node]) -> bool:
    """Let the collectives among these nodes begin a block at which lanes can wait for others; True if there was one."""
    found, work = False, list(graph.blocks)
    while work:
        block = work.pop()
        place = next((k for k, node in enumerate(block.nodes) if is_meeting(node) and node in nodes
                      and not (k == 0 and block.parks)), None)
        if place is not None:
            found = True
            part = split_before(graph, block, place)
            part.parks = True
            work.append(part)
    return found


def come_apart(blocks: list[Block]) -> list[Block]:
    """Blocks that lanes may run while others of their warp wait for memory or at a collective: all that can follow one."""
    found: dict[Block, None] = {}
    for block in blocks:
        if block.waits or block.parks:
            found.update(dict.fromkeys(depth_first(block, following)))
    return list(found)


def following(block: Block) -> list[Block]:
    return block.successors


def behind(place: Block, block: Block) -> bool:
    """Lanes that wait at ``place`` may come to the collective of ``block`` yet, as lanes that go round a loop come to it again.

    Not so where the loop brings all of them through ``place`` first: lanes there have gone around the collective.
    """
    if block not in depth_first(place, following):
        return False
    return any(block in depth_first(start, lambda inner: [b for b in inner.successors if b is not place])
               for start in block.successors if start is not place)


def parted_meetings(blocks: list[Block], pending: dict[Block, set[Block]]) -> set[Node]:
    """Collectives that lanes may reach a round before others. ``pending``: where lanes may wait meanwhile.

    Compilers make two nested loops of one that some lanes ``continue`` early and others go round to the end.
    """
    return {node for block in blocks if any(map(is_meeting, block.nodes))
            if any(behind(place, block) for place in pending.get(block, ()))
            for node in block.nodes if is_meeting(node)}


def may_wait(loop: Loop) -> bool:
    """Reads memory, and has no barrier: at that, lanes meet anyway."""
    nodes = [node for block in loop.blocks for node in nodes_of(block)]
    looks = reads_shared if any(node.base in WRITES for node in nodes) else reads_memory
    return any(looks(node) for node in nodes) and not any(block.barrier is not None for block in loop.blocks)


def waits(loop: Loop, carried: set[str]) -> bool:
    """Some way out of the loop opens by what others write. ``carried``: registers that its rounds begin with."""
    ways_out = [block.branch.guard for block in loop.blocks
                if block.branch is not None and any(successor not in loop.blocks for successor in block.successors)]
    return any(looks_at_memory(guard, loop, carried) for guard in ways_out)


def looks_at_memory(condition: str, loop: Loop, carried: set[str]) -> bool:
    """A condition that changes from round to round only if somebody else writes memory."""
    definitions: dict[str, list[Node]] = defaultdict(list)
    for block in loop.blocks:
        for node in nodes_of(block):
            for name in node.results:
                definitions[name].append(node)
    branches = [block.branch.guard for block in loop.blocks if block.branch is not None]
    is_look = reads_shared if any(node.base in WRITES for block in loop.blocks for node in block.nodes) else reads_memory
    seen, work, looks = set(), [condition], False
    while work:
        name = work.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        if name in carried or not all(same_again(node) for node in definitions[name]):
            return False
        looks = looks or any(is_look(node) for node in definitions[name])
        work += [used for node in definitions[name] for used in node.uses()]
        if len(definitions[name]) > 1:          # which of them counts is for branches to say
            work += branches
    return looks


def reads_memory(node: Node) -> bool:
    if node.row is None:                        # a branch or a return
        return False
    return node.row.kind == "atomic" or node.row.kind == "load" and not {"param", "const", "local"} & set(node.form.parts)


def reads_shared(node: Node) -> bool:
    """The reader says that others may write it: an atomic, or a volatile or ordered load."""
    return reads_memory(node) and (node.row.kind == "atomic" or any(node.form.has(how) for how in ORDERED))


def same_again(node: Node) -> bool:
    """Done again with the same operands it gives the same result, unless somebody else has written in between."""
    if node.row.kind != "atomic":
        return "%clock" not in str(node.operands) and "%globaltimer" not in str(node.operands)
    if node.form.has("add"):
        return isinstance(node.operands[-1], Imm) and node.operands[-1].bits == 0
    return any(part in SAME_AGAIN for part in node.form.parts)


def insert_before(graph: Graph, header: Block, latches: list[Block]) -> None:
    block = Block(f"{header.name}.wait", successors=[header], predecessors=latches, waits=True)
    for latch in latches:
        latch.successors = [block if s is header else s for s in latch.successors]
    header.predecessors = [b for b in header.predecessors if b not in latches] + [block]
    graph.blocks.append(block)


def split_before(graph: Graph, block: Block, place: int) -> Block:
    """Cut a block before a node that does not begin it; returns the part that begins with the node."""
    if place == 0:
        return block
    rest = dataclasses.replace(block, name=f"{block.name}.meet", nodes=block.nodes[place:], predecessors=[block], phis=[],
                               parks=False)
    block.nodes, block.terminator, block.successors, block.waits = block.nodes[:place], None, [rest], False
    for successor in rest.successors:
        successor.predecessors = [rest if b is block else b for b in successor.predecessors]
    graph.blocks.append(rest)
    return rest
