"""Finds races: two accesses to a byte, one of them a write, that nothing orders (simt/observe/shadow.py says what does).

Shared memory is watched in the blocks that the launch chose to watch, global memory in all of them, except where the launch
only reads it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simt.ir.origins import origins
from simt.observe.checker import VERBS, Actor, Checker, Extent, Hazard
from simt.observe.observer import ACTIONS, laid_out, native

SPACES = ("global", "shared")
MOST_BLOCKS = 1 << 16           # with a release of their own; more share them
MOST_GLOBAL_WORDS = 1 << 20


class Races(Checker):
    NAME = "race"
    FIELD = "race_state"
    DECLARATIONS = (native("race_access", 3, 11), native("race_sync_warp", 1, 3), native("race_fence", 1, 3))

    @classmethod
    def symbols(cls) -> dict[str, Callable]:
        from simt.observe import shadow

        return {"race_access": shadow.race_access, "race_sync_warp": shadow.race_sync_warp, "race_fence": shadow.race_fence}

    @classmethod
    def state(cls, extent: Extent) -> np.ndarray:
        from simt.observe import shadow as s

        blocks = min(extent.blocks, MOST_BLOCKS)
        shared_words = -(-extent.shared_bytes // s.WORD_BYTES)
        slots = min(1 << (extent.global_bytes // s.WORD_BYTES * 2).bit_length(), MOST_GLOBAL_WORDS)
        sizes = {
            s.CLOCKS: extent.threads, s.KNOWN: extent.threads * s.WARP, s.THREADS: extent.threads * s.AGENT,
            s.BLOCKS: blocks * s.AGENT, s.SHARED_AT: shared_words * s.RECORD, s.GLOBAL_AT: slots * s.RECORD,
            s.FOUND_AT: s.MAX_FINDINGS * s.FINDING,
        }
        state = laid_out(s.HEADER + extent.sites, sizes)
        state[[s.HEADER + site for site in extent.harmless]] = 1
        state[[s.BLOCK, s.THREAD_COUNT, s.BLOCK_COUNT, s.SHARED_WORDS, s.GLOBAL_SLOTS]] = \
            -1, extent.threads, blocks, max(shared_words, 1), slots
        return state

    # -- emitted code

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space not in SPACES:
            return
        from simt.observe.shadow import HEADER

        text, memory, site = emitter.text, emitter.memory, access.site
        watched, end = text.fresh_label("watched"), text.fresh_label("compared")
        wanted = text.define(f"icmp ne i32 {mask}, 0")
        if access.space == "shared":
            flag = text.define(f"icmp ne i64 {emitter.context.load('watched')}, 0")
        else:
            at = text.define(f"getelementptr i64, ptr %field.race_state, i64 {HEADER + site.index}")
            flag = text.define(f"icmp eq i64 {text.define(f'load i64, ptr {at}')}, 0")
        wanted = text.define(f"and i1 {wanted}, {flag}")
        text.emit(f"br i1 {wanted}, label %{watched}, label %{end}")
        text.label(watched)
        memory.spill_addresses(access)
        for index, value in enumerate(access.values):
            memory.to_exchange(index, value, value.type)
        numbers = (self.wide(emitter, mask), site.element_bytes, site.elements, site.index, ACTIONS.index(site.action),
                   SPACES.index(access.space), self.variable(emitter, access), self.wide(emitter, "%warp"),
                   *(emitter.context.load(name) for name in ("block", "epoch", "phase")))
        self.call(emitter, "race_access", ("%field.race_state", "%addresses", "%exchange"), numbers)
        text.emit(f"br label %{end}")
        text.label(end)

    def on_warp_instruction(self, emitter, node, mask: str) -> None:
        text = emitter.text
        if node.opcode.startswith("bar.warp.sync"):
            members = emitter.operand(node.operands[0], "u32")
            if members.shape.flat and members.shape.bases == 1:
                mask = text.define(f"and i32 {mask}, {members.parts[0].text}")
            function = "race_sync_warp"
        elif node.base in ("membar", "fence"):
            function = "race_fence"
        else:
            return
        numbers = (self.wide(emitter, mask), self.wide(emitter, "%warp"), emitter.context.load("block"))
        self.call(emitter, function, ("%field.race_state",), numbers)

    @staticmethod
    def variable(emitter, access) -> int:
        """A number for the shared variable that the access is based on; 0 where that is not one."""
        if access.space != "shared":
            return 0
        shared = emitter.layout.shared
        roots = {root.name for root in origins(emitter.kernel.values, access.site.node.operands[0]) if root.name in shared}
        return 1 + sorted(shared).index(roots.pop()) if len(roots) == 1 else 0

    # -- afterwards

    def hazards(self, state: np.ndarray, values: list[int]) -> Iterator[Hazard]:
        from simt.observe import shadow as s

        for k in range(int(state[s.FOUND])):
            row = state[state[s.FOUND_AT] + k * s.FINDING:][:s.FINDING].tolist()
            is_alias = row[0] == s.ALIAS
            actions = (s.STORE if is_alias else row[0], row[1])
            actors = tuple(Actor(*divmod(row[4 + i] - 1, s.MAX_THREADS), site=row[2 + i], action=VERBS[actions[i]])
                           for i in (0, 1))
            what, space, address = "equal values" if row[8] else "", SPACES[row[6] & 1], row[6] >> 1
            yield Hazard("alias" if is_alias else "race", what, actors, row[7], space, address, apart=row[9])
