"""Counts PTX instructions by class, active lanes, and floating-point operations.

One execution count and one lane count per basic block give every unguarded instruction in it; guarded ones count the
lanes whose guard holds. A return counts as no instruction; ``@p ret`` counts as the branch that it is.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.ir.blocks import RETURNS
from simt.isa.table import bits_of
from simt.observe import names
from simt.observe.observer import Observer, Reading, Slots

FLOPS = {16: names.FLOPS_FP16, 32: names.FLOPS_FP32, 64: names.FLOPS_FP64}
MEMORY_SPACES = ("global", "shared", "local")


def kind_of(node) -> str:
    """Counter class of an instruction, from its row and, for memory, its state space."""
    if node.row is None:
        return "branch"
    if node.row.kind in ("load", "store"):
        parts = node.form.parts
        if "param" in parts or "const" in parts:
            return "load_param"
        return f"{node.row.kind}_{next((space for space in MEMORY_SPACES if space in parts), 'generic')}"
    if node.base == "bar" and node.form.has("warp"):
        return "warp"               # syncwarp: no barrier of the block
    return node.row.kind


def counted(block) -> list:
    """The nodes of a block without its return: lanes that end are dropped where they branch, not where the return stands."""
    end = block.terminator
    return block.nodes if end is None or end.base in RETURNS else [*block.nodes, end]


class Instructions(Observer):
    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.blocks: list[tuple[int, object]] = []          # (slot of executions and lanes, block)
        self.guarded: dict[object, int] = {}                # node -> slot of lanes

    def on_block(self, emitter, block) -> None:
        slot = self.slot(2)
        self.blocks.append((slot, block))
        self.add(emitter, slot, "1")
        self.add_lanes(emitter, slot + 1, emitter.mask)

    def on_guarded(self, emitter, node, mask: str) -> None:
        slot = self.slot()
        self.guarded[node] = slot
        self.add_lanes(emitter, slot, mask)

    def collect(self, values: list[int]) -> Iterator[Reading]:
        for slot, block in self.blocks:
            executions, lanes = values[slot], values[slot + 1]
            for node in counted(block):
                guarded_on = values[self.guarded[node]] if node in self.guarded else lanes
                yield from self.readings(node, executions, lanes, guarded_on)

    def executed(self, values: list[int]) -> dict[int, int]:
        ran: dict[int, int] = {}
        for slot, block in self.blocks:
            for node in counted(block):
                ran[node.line] = ran.get(node.line, 0) + values[slot]
        return ran

    def readings(self, node, executions: int, active: int, lanes: int) -> Iterator[Reading]:
        kind = kind_of(node)
        yield node.source, names.INSTRUCTIONS, executions
        yield node.source, names.THREAD_INSTRUCTIONS, lanes
        yield node.source, names.ACTIVE_THREAD_INSTRUCTIONS, active
        yield node.source, names.instructions(kind), executions
        if kind == "barrier":
            yield node.source, names.BARRIERS, executions
        if node.row is not None and node.row.flops:
            width = 16 if node.form.type == "f16x2" else bits_of(node.form.type)
            yield node.source, FLOPS[width], lanes * node.row.flops
