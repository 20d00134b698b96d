"""Control flow of a warp: lanes are handed to the blocks they go to, and the first pending block runs next."""
from __future__ import annotations

from simt.ir.blocks import Block


class Flow:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes

    def emit_prologue(self) -> None:
        for block in self.emitter.kernel.order.blocks:
            self.text.emit(f"{self.pending(block)} = alloca i32")
            self.text.emit(f"store i32 0, ptr {self.pending(block)}")

    def take(self, block: Block) -> str:
        """The lanes that wait for a block, which now run."""
        mask = self.text.define(f"load i32, ptr {self.pending(block)}")
        self.text.emit(f"store i32 0, ptr {self.pending(block)}")
        self.emitter.arrival.take(block)
        return mask

    def emit_terminator(self, block: Block) -> None:
        if block.barrier is not None:
            self.emitter.suspension.emit_barrier(block)
        elif block.waits:
            self.emitter.turns.wait(block)
        elif not block.successors:
            self.retire(self.emitter.mask)
            self.dispatch(self.waiting(block), None)
        elif block.branch is None:
            self.go(block, block.successors[0])
        elif block in self.emitter.kernel.shapes.divergent:
            self.emit_divergent(block)
        else:
            self.emit_uniform(block)

    def waiting(self, block: Block) -> set[Block]:
        return self.emitter.kernel.shapes.pending.get(block, set())

    def go(self, block: Block, successor: Block) -> None:
        """All running lanes go one way."""
        if successor.is_exit:
            self.retire(self.emitter.mask)
            self.dispatch(self.waiting(block), None)
            return
        self.hand_over([(successor, self.emitter.mask)])
        self.poll(block, successor)
        earlier = {b for b in self.waiting(block) | {successor} if b.position <= successor.position}
        self.dispatch(earlier, successor)

    def emit_uniform(self, block: Block) -> None:
        condition = self.emitter.guard(block.terminator).parts[0]
        labels = [self.text.fresh_label("way") for _ in block.successors]
        self.text.emit(f"br i1 {condition.text}, label %{labels[0]}, label %{labels[1]}")
        cached = dict(self.emitter.values.cached)
        for label, successor in zip(labels, block.successors, strict=True):
            self.emitter.values.cached = dict(cached)
            self.text.label(label)
            self.go(block, successor)

    def emit_divergent(self, block: Block) -> None:
        taken = self.lanes.mask_bits(self.emitter.guard(block.terminator))
        some = self.text.define(f"and i32 {self.emitter.mask}, {taken}")
        rest = self.text.define(f"xor i32 {self.emitter.mask}, {some}")
        for observer in self.emitter.observers:
            observer.on_divergent_branch(self.emitter, block.terminator, some, rest)
        ways = list(zip(block.successors, (some, rest), strict=True))
        for successor, mask in ways:
            if successor.is_exit:
                self.retire(mask)
        inner = [(successor, mask) for successor, mask in ways if not successor.is_exit]
        self.hand_over(inner)
        for successor, _ in inner:
            self.poll(block, successor)
        last = max(block.successors, key=lambda s: s.position)
        certain = last if len(inner) == 2 else None
        candidates = self.waiting(block) | {successor for successor, _ in inner}
        if certain is not None:
            candidates = {b for b in candidates if b.position <= certain.position}
        self.dispatch(candidates, certain)

    def hand_over(self, ways: list[tuple[Block, str]]) -> None:
        """Copy the phis of each successor for the lanes in its mask, and mark the lanes pending there."""
        self.copy_phis(ways)
        for successor, mask in ways:
            pointer = self.pending(successor)
            old = self.text.define(f"load i32, ptr {pointer}")
            new = self.text.define(f"or i32 {old}, {mask}")
            self.text.emit(f"store i32 {new}, ptr {pointer}")
            self.emitter.arrival.hand_over(self.emitter.block, successor, mask)

    def copy_phis(self, ways: list[tuple[Block, str]]) -> None:
        """All sources are read before any phi is written: phis take their values at once."""
        copies = []
        for successor, mask in ways:
            for phi in successor.phis:
                copies.append((mask, phi.result, self.emitter.values.read(phi.incoming[self.emitter.block])))
        for mask, result, value in copies:
            self.emitter.values.write(result, value, self.phi_mask(mask))
        for successor, _ in ways:                 # a phi's value is only valid in its own block
            for phi in successor.phis:
                self.emitter.values.cached.pop(phi.result, None)

    def phi_mask(self, mask: str) -> str | None:
        """None where no other lane can hold a value of the phi: then it is written whole."""
        return None if mask == self.emitter.mask and self.emitter.block not in self.emitter.kernel.shapes.shared else mask

    def poll(self, block: Block, successor: Block) -> None:
        """On the way back in a loop, stop if the launch was stopped (Ctrl-C, a fault elsewhere, the watchdog)."""
        if successor.position > block.position:
            return
        stop = self.emitter.context.load_stop()
        running, leaving = self.text.fresh_label("running"), self.text.fresh_label("leaving")
        self.text.emit(f"br i1 {stop}, label %{leaving}, label %{running}")
        self.text.label(leaving)
        place = self.emitter.suspension.trap(self.last_node(block, successor), "going round")
        self.text.emit(f"store i64 {place + 1}, ptr {self.emitter.context.pointer('spin_site')}")
        self.text.emit("br label %stopped")
        self.text.label(running)

    def last_node(self, block: Block, header: Block):
        """An instruction of the loop that has a source line, for the watchdog's note; the header's come first."""
        nodes = [*header.nodes, *block.nodes, *(b.terminator for b in (header, block) if b.terminator is not None)]
        return next((node for node in nodes if node.source is not None), nodes[0] if nodes else None)

    def retire(self, mask: str) -> None:
        """These lanes have ended."""
        alive = self.text.define("load i32, ptr %alive")
        others = self.text.define(f"xor i32 {mask}, -1")
        left = self.text.define(f"and i32 {alive}, {others}")
        self.text.emit(f"store i32 {left}, ptr %alive")

    def dispatch(self, candidates: set[Block], certain: Block | None) -> None:
        """Run the first pending block; ``certain`` has lanes for sure and comes last."""
        for block in sorted(candidates, key=lambda b: b.position):
            if block is certain:
                self.text.emit(f"br label %{self.label(block)}")
                return
            lanes = self.text.define(f"load i32, ptr {self.pending(block)}")
            some = self.text.define(f"icmp ne i32 {lanes}, 0")
            following = self.text.fresh_label("next")
            self.text.emit(f"br i1 {some}, label %{self.label(block)}, label %{following}")
            self.text.label(following)
        self.text.emit("br label %done")

    def label(self, block: Block) -> str:
        return f"block{block.position}"

    def pending(self, block: Block) -> str:
        return f"%pending{block.position}"
