"""Turns: lanes that wait for others of their warp let every one of them run before they go on.

In a loop that waits for memory (simt/ir/waits.py), lanes are parked at the way back. The others run until they end, stand at a
barrier, or wait too; then the warp hands the turn to the next one of its block, and its own waiting lanes look again when it
comes back. At a collective lanes are parked while others that it names wait in such a loop, or may yet come round a loop to it.
"""
from __future__ import annotations

from simt.ir.blocks import Block
from simt.ir.waits import behind
from simt.jit.arrival import missing_in

TURN = 1 << 30              # what run_warp returns instead of a barrier's number: nothing to do until others have run


class Turns:
    def __init__(self, emitter):
        self.emitter, self.text = emitter, emitter.text
        self.loops = [block for block in emitter.kernel.order.blocks if block.waits]
        self.meetings = [block for block in emitter.kernel.order.blocks if block.parks]

    @property
    def places(self) -> list[Block]:
        """Where lanes may be parked until the next turn."""
        return [*self.loops, *self.meetings]

    def parked(self, block: Block) -> str:
        return f"%turn{block.position}"

    def wait(self, block: Block) -> None:
        """The way back of a waiting loop."""
        header = block.successors[0]
        self.emitter.flow.copy_phis([(header, self.emitter.mask)])
        self.emitter.flow.poll(block, header)
        self.park(block)

    def park(self, block: Block) -> None:
        old = self.text.define(f"load i32, ptr {self.parked(block)}")
        self.text.emit(f"store i32 {self.text.define(f'or i32 {old}, {self.emitter.mask}')}, ptr {self.parked(block)}")
        self.emitter.flow.dispatch(self.emitter.flow.waiting(block), None)

    def start_block(self, block: Block) -> None:
        """Before a collective: join those that are parked at it, and park if lanes that it names may still come."""
        if not block.parks:
            return
        earlier = self.text.define(f"load i32, ptr {self.parked(block)}")
        self.emitter.mask = self.text.define(f"or i32 {self.emitter.mask}, {earlier}")
        self.text.emit(f"store i32 0, ptr {self.parked(block)}")
        flow, waiting = self.emitter.flow, sorted(self.emitter.flow.waiting(block), key=lambda b: b.position)
        places = [flow.pending(place) for place in waiting if behind(place, block)]
        members = self.emitter.operand(block.meeting.operands[-1], "u32")
        late = missing_in(self.emitter, members, self.union([*places, *map(self.parked, self.loops)]))
        early, going = self.text.fresh_label("early"), self.text.fresh_label("meet")
        some = self.text.define(f"icmp ne i32 {late}, 0")
        self.text.emit(f"br i1 {some}, label %{early}, label %{going}")
        self.text.label(early)
        self.park(block)
        self.text.label(going)

    def union(self, pointers: list[str]) -> str:
        """The lanes of several masks."""
        found = "0"
        for pointer in pointers:
            found = self.text.define(f"or i32 {found}, {self.text.define(f'load i32, ptr {pointer}')}")
        return found

    # -- the end of a turn

    def emit_prologue(self) -> None:
        for block in self.places:
            self.text.emit(f"{self.parked(block)} = alloca i32")
            self.text.emit(f"store i32 0, ptr {self.parked(block)}")

    def emit_done(self, values: list[str], masks: list[str]) -> None:
        """No lane runs: if some are parked here, they go on; first other warps get their turn, if one waits for memory.

        values: names of what lanes parked at barriers need; masks: where those lanes stand
        """
        if not self.places:
            return
        again, over = self.text.fresh_label("again"), self.text.fresh_label("over")
        some = self.text.define(f"icmp ne i32 {self.union([self.parked(block) for block in self.places])}, 0")
        self.text.emit(f"br i1 {some}, label %{again}, label %{over}")
        self.text.label(again)
        if self.loops:
            self.hand_over(values, masks)
        for block in self.places:
            lanes = self.text.define(f"load i32, ptr {self.parked(block)}")
            self.text.emit(f"store i32 {lanes}, ptr {self.emitter.flow.pending(self.start(block))}")
            self.text.emit(f"store i32 0, ptr {self.parked(block)}")
        self.emitter.flow.dispatch(set(map(self.start, self.places)), None)
        self.text.label(over)

    def hand_over(self, values: list[str], masks: list[str]) -> None:
        """Leave, so that other warps run; what follows runs at the next turn."""
        suspension = self.emitter.suspension
        masks, self.emitter.mask = [*masks, *map(self.parked, self.places)], "0"
        names = sorted({*values, *(name for block in self.places for name in self.needed(self.start(block)))})
        saved = suspension.save(TURN, names, masks)
        self.text.emit(f"ret i32 {TURN}")
        self.text.label(f"resume{TURN}")
        suspension.restore(saved, masks)

    def start(self, block: Block) -> Block:
        """Where lanes parked here go on."""
        return block.successors[0] if block.waits else block

    def needed(self, start: Block) -> set[str]:
        """Values that lanes need who go on here."""
        values = self.emitter.kernel.values
        names = [*values.live_in[start], *(phi.result for phi in start.phis)]
        return {name for name in names if name in values.block}
