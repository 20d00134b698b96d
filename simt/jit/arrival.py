"""Which lanes a collective of a warp waits for (docs/decisions/6-arrival.md).

A shuffle, vote, match, reduction or bar.warp.sync waits for all lanes that its mask names and that have not ended (PTX ISA,
e.g. "Parallel Synchronization and Communication Instructions: vote.sync"). The device runs the lanes of a warp in a fixed
order, so a lane that will end without meeting anybody may only not have done so yet. Of the lanes that wait elsewhere,
excused are those that meet no collective and no barrier before they end, if also

- they are on a way of their own: nothing on it is common to all lanes that come through the collective
  (``if wrong: out[i] = 0; return``), or
- they have left the loop that holds the collective; compilers merge a ``return`` in a loop with the code behind the loop, or
- the collective is bar.warp.sync, from which no lane takes a value (``if lane < 2: ...; syncwarp()`` of ``cuda.reduce``).

Waited for are lanes that may yet come (simt/jit/turns.py): those in a loop that waits for memory, and those that come round a
loop to the collective while others have come round by a shorter way. Any other named lane that is not here is missed, and the
launch fails: ``if lane < 16`` around a shuffle that names all 32.
"""
from __future__ import annotations

from simt.ir.blocks import Block, Node, is_meeting
from simt.ir.order import Loop, depth_first
from simt.ir.shapes import UNIFORM, VARYING
from simt.jit.builder import Value
from simt.jit.lanes import Lanes


class Arrival:
    """left: (loop, block behind it) -> name of the mask of lanes that wait there and came out of the loop"""

    def __init__(self, emitter):
        self.emitter, self.text = emitter, emitter.text
        self.order = emitter.kernel.order
        self.left: dict[tuple[Loop, Block], str] = {}
        for block in self.order.blocks:
            loop = self.outermost(block) if any(is_meeting(node) for node in block.nodes) else None
            for place in emitter.flow.waiting(block) if loop else ():
                if place not in loop.blocks and is_quiet(place) and not self.is_apart(place, block):
                    self.left[loop, place] = f"%left{loop.header.position}.{place.position}"

    def outermost(self, block: Block) -> Loop | None:
        return next((loop for loop in self.order.loops if block in loop.blocks), None)

    def is_apart(self, place: Block, block: Block) -> bool:
        """Lanes at ``place`` come to nothing that all lanes of ``block`` come to as well."""
        ahead = set(blocks_ahead(place))
        while (block := self.order.ipdom[block]) is not None:
            if block in ahead:
                return False
        return True

    # -- which lanes have left a loop

    def emit_prologue(self) -> None:
        for name in self.left.values():
            self.text.emit(f"{name} = alloca i32")
            self.text.emit(f"store i32 0, ptr {name}")

    def hand_over(self, block: Block, successor: Block, mask: str) -> None:
        """Lanes go from a block to a successor, where they will wait."""
        for (loop, place), name in self.left.items():
            if place is successor and block in loop.blocks:
                old = self.text.define(f"load i32, ptr {name}")
                self.text.emit(f"store i32 {self.text.define(f'or i32 {old}, {mask}')}, ptr {name}")

    def take(self, block: Block) -> None:
        """The lanes that waited for a block go on."""
        for (_, place), name in self.left.items():
            if place is block:
                self.text.emit(f"store i32 0, ptr {name}")

    # -- the check

    def excused(self, node: Node) -> str:
        """i32: lanes that wait elsewhere, or in a loop, and count as ended for the collective ``node``."""
        emitter, found = self.emitter, "0"
        places = [(block, emitter.flow.pending(block)) for block in emitter.flow.waiting(emitter.block)]
        places += [(block, emitter.turns.parked(block)) for block in emitter.turns.loops]
        loop = self.outermost(emitter.block)
        for place, waiting in sorted(places, key=lambda pair: pair[0].position):
            if not is_quiet(place):
                continue
            harmless = node.opcode == "bar.warp.sync" or self.is_apart(place, emitter.block)
            mask = waiting if harmless else self.left.get((loop, place))
            if mask:
                found = self.text.define(f"or i32 {found}, {self.text.define(f'load i32, ptr {mask}')}")
        return found

    def check(self, node: Node, members: Lanes) -> None:
        """Running lanes must be in their own mask, and nobody whom a mask names may be missed; else the launch fails."""
        running = self.emitter.mask
        present = self.text.define(f"or i32 {running}, {self.excused(node)}")
        alive = self.text.define("load i32, ptr %alive")
        absent = self.text.define(f"and i32 {alive}, {self.text.define(f'xor i32 {present}, -1')}")
        if members.shape == UNIFORM:
            named = members.parts[0].text
        else:
            lane = self.emitter.lanes.convert(self.emitter.special.read("%laneid"), VARYING)
            named = self.emitter.lanes.mask_bits(self.emitter.lanes.apply(names_itself, [members, lane], VARYING)[0])
        outside = self.text.define(f"and i32 {running}, {self.text.define(f'xor i32 {named}, -1')}")
        missing = missing_in(self.emitter, members, absent)
        fail_if = self.emitter.suspension.fail_if
        fail_if(self.text.define(f"icmp ne i32 {outside}, 0"), node, "outside its own mask", outside)
        fail_if(self.text.define(f"icmp ne i32 {missing}, 0"), node, "a named lane does not arrive", missing)


def missing_in(emitter, members: Lanes, absent: str) -> str:
    """i32, not 0 where a mask of the running lanes names an absent lane: those named, or with masks that differ, those that
    name one."""
    if members.shape == UNIFORM:
        return emitter.text.define(f"and i32 {absent}, {members.parts[0].text}")
    gone = emitter.lanes.uniform(Value("i32", absent))
    some = emitter.lanes.apply(lambda b, m, n: b.compare("icmp ne", b.binary("and", m, n), b.const("i32", 0)), [members, gone],
                               VARYING)[0]
    return emitter.text.define(f"and i32 {emitter.lanes.mask_bits(some)}, {emitter.mask}")


def blocks_ahead(block: Block) -> list[Block]:
    """The block and all that can follow, but for bare returns."""
    return [b for b in depth_first(block, lambda inner: inner.successors) if not b.is_exit]


def is_quiet(block: Block) -> bool:
    """Lanes at a block meet no collective and no barrier before they end."""
    return not any(b.barrier or any(map(is_meeting, b.nodes)) for b in blocks_ahead(block))


def names_itself(b, members: Value, lane: Value) -> Value:
    """i1: the lane's own bit in its mask."""
    return b.compare("icmp ne", b.binary("and", b.binary("lshr", members, lane), b.const("i32", 1)), b.const("i32", 0))
