"""Finds races: two accesses to a byte, one of them a write, that nothing orders (simt/observe/shadow.py says what does).

Shared memory is watched in the blocks that the launch chose to watch, global memory in all of them, except where the launch
only reads it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simt.ir.origins import origins
from simt.ir.shapes import UNIFORM, WARP, Shape
from simt.ir.swaps import first_guesses
from simt.observe.checker import VERBS, Actor, Checker, Extent, Hazard
from simt.observe.observer import ACTIONS, Slots, laid_out, native

SPACES = ("global", "shared")
WORD_BYTES = 4
CONSECUTIVE = Shape(1, tuple(WORD_BYTES * lane for lane in range(WARP)))
MOST_BLOCKS = 1 << 16           # with a release of their own; more share them
MOST_SECTORS = 1 << 19          # of global memory with an entry: three quarters of these
MOST_GLOBAL_WORDS = 1 << 20     # of them with records of their own
SPARE_WORDS = 1 << 10           # an allocation may begin within a sector


class Races(Checker):
    NAME = "race"
    FIELD = "race_state"
    DECLARATIONS = (native("race_access", 4, 12), native("race_sync_warp", 1, 3), native("race_fence", 1, 3))

    @classmethod
    def symbols(cls) -> dict[str, Callable]:
        from simt.observe import shadow

        return {"race_access": shadow.race_access, "race_sync_warp": shadow.race_sync_warp, "race_fence": shadow.race_fence}

    @classmethod
    def state(cls, extent: Extent) -> np.ndarray:
        from simt.observe import shadow as s

        blocks = min(extent.blocks, MOST_BLOCKS)
        lines = -(-extent.shared_bytes // s.LINE_BYTES)
        sectors = min(1 << (extent.global_bytes // s.SECTOR_BYTES * 2 + s.NEIGHBOURS).bit_length(), MOST_SECTORS)
        words = min(extent.global_bytes // s.SECTOR_BYTES * s.SECTOR_WORDS + SPARE_WORDS, MOST_GLOBAL_WORDS)
        sizes = {
            s.CLOCKS: extent.threads, s.KNOWN: extent.threads * s.WARP, s.THREADS: extent.threads * s.AGENT,
            s.BLOCKS: blocks * s.AGENT, s.LINES_AT: lines, s.SHARED_AT: lines * s.WARP * s.RECORD,
            s.FOUND_AT: s.MAX_FINDINGS * s.FINDING, s.SECTORS_AT: sectors * s.SECTOR, s.GLOBAL_AT: words * s.RECORD,
        }
        state = laid_out(s.HEADER + extent.sites, sizes)
        state[[s.HEADER + site for site in extent.harmless]] = 1
        state[state[s.CLOCKS]:state[s.CLOCKS] + extent.threads] = 1
        state[[s.BLOCK, s.THREAD_COUNT, s.BLOCK_COUNT, s.LINES, s.SHARED_WORDS, s.SECTORS, s.GLOBAL_WORDS]] = \
            -1, extent.threads, blocks, lines, -(-extent.shared_bytes // s.WORD_BYTES), sectors, words
        return state

    def __init__(self, slots: Slots):
        super().__init__(slots)
        self.guesses: frozenset | None = None

    def is_first_guess(self, emitter, site) -> bool:
        """The load that begins a compare-and-swap loop may race: the swap finds out."""
        if self.guesses is None:
            self.guesses = first_guesses(emitter.kernel.order, emitter.kernel.values)
        return site.node in self.guesses

    # -- emitted code

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space not in SPACES or self.is_first_guess(emitter, access.site):
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
        line = 0
        if access.space == "shared" and site.action == "load" and site.element_bytes == site.bytes == WORD_BYTES:
            mask = self.ends(emitter, mask) if access.shape == UNIFORM else mask
            line = self.unless_quiet(emitter, access, mask, end) if access.shape == CONSECUTIVE else 0
        memory.spill_addresses(access)
        for index, value in enumerate(access.values):
            memory.to_exchange(index, value, value.type)
        numbers = (self.wide(emitter, mask), site.element_bytes, site.elements, site.index, ACTIONS.index(site.action),
                   SPACES.index(access.space), self.variable(emitter, access), self.wide(emitter, "%warp"),
                   *(emitter.context.load(name) for name in ("block", "epoch", "phase")), line)
        self.call(emitter, "race_access", ("%field.race_state", "%addresses", "%exchange", "%exchange"), numbers)
        text.emit(f"br label %{end}")
        text.label(end)

    @staticmethod
    def ends(emitter, mask: str) -> str:
        """i32: the first and the last of the lanes, of which there is one at least."""
        text = emitter.text
        zeros = [text.declare(f"llvm.{name}.i32", "i32", ("i32", "i1")) for name in ("cttz", "ctlz")]
        before, behind = (text.define(f"call i32 {function}(i32 {mask}, i1 true)") for function in zeros)
        first, last = text.define(f"shl i32 1, {before}"), text.define(f"lshr i32 {-1 << 31}, {behind}")
        return text.define(f"or i32 {first}, {last}")

    def unless_quiet(self, emitter, access, mask: str, end: str) -> str:
        """A warp may read a line of shared memory word by word: go to ``end`` if its mark says that this would change nothing.
        Returns where the mark lies (i64); 0 if the warp does something else."""
        from simt.observe import shadow as s

        text = emitter.text
        sizes, marks, current = (text.define(f"load i64, ptr {at}") for at in [
            text.define(f"getelementptr i64, ptr %field.race_state, i64 {field}") for field in (s.LINES, s.LINES_AT, s.BLOCK)])
        base = text.define(f"add i64 {access.base.parts[0].text}, {access.offset}")
        number = text.define(f"lshr i64 {base}, {s.LINE_BYTES.bit_length() - 1}")
        aligned = text.define(f"icmp eq i64 {text.define(f'and i64 {base}, {s.LINE_BYTES - 1}')}, 0")
        inside = text.define(f"icmp ult i64 {number}, {sizes}")
        whole = text.define(f"and i1 {aligned}, {text.define(f'icmp eq i32 {mask}, -1')}")
        whole = text.define(f"and i1 {whole}, {inside}")
        line = text.define(f"select i1 {whole}, i64 {text.define(f'add i64 {marks}, {number}')}, i64 0")
        at = text.define(f"getelementptr i64, ptr %field.race_state, i64 {line}")
        found = text.define(f"load i64, ptr {at}")
        epoch, phase = (emitter.context.load(name) for name in ("epoch", "phase"))
        when = text.define(f"add i64 {epoch}, {text.define(f'shl i64 {phase}, {s.PHASE_SHIFT - s.EPOCH_SHIFT}')}")
        when = text.define(f"shl i64 {when}, {s.VARIABLE_BITS}")
        mark = text.define(f"add i64 {when}, {(1 << s.VARIABLE_BITS) + self.variable(emitter, access) + 1}")
        known = text.define(f"icmp eq i64 {current}, {emitter.context.load('block')}")      # marks of another block may stand
        quiet = text.define(f"and i1 {whole}, {text.define(f'icmp eq i64 {found}, {mark}')}")
        quiet = text.define(f"and i1 {quiet}, {known}")
        look = text.fresh_label("look")
        text.emit(f"br i1 {quiet}, label %{end}, label %{look}")
        text.label(look)
        return line

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

    @staticmethod
    def is_full(state: np.ndarray) -> bool:
        """Whether there was no room to watch all of the global memory that the launch touched."""
        from simt.observe import shadow

        return bool(state[shadow.MISSED])

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
