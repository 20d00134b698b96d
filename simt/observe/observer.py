"""The shape of an observer: code added at the sites it watches, and what its counters mean afterwards.

An observer is made anew for each compiled kernel. While the kernel is emitted it adds to 64-bit slots that each worker
thread owns; after a launch the slots of all workers are summed, and ``collect`` turns them into named counters with the
source line that they belong to. Slots never depend on the number of threads.
"""
from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np

from simt.ptx.statements import SourceLine

ACTIONS = ("load", "store", "atomic")               # as native functions number them
Reading = tuple[SourceLine | None, str, int]        # source line, counter name, value


class Slots:
    """Hands out the counters of one compiled kernel."""

    def __init__(self):
        self.count = 0

    def take(self, count: int) -> int:
        start, self.count = self.count, self.count + count
        return start


class Observer:
    """Base: the hooks do nothing.

    DECLARATIONS: in LLVM IR, of the native functions that its code calls
    """

    DECLARATIONS: tuple[str, ...] = ()

    @classmethod
    def symbols(cls) -> dict:
        """Those functions by name, each with its ``address``."""
        return {}

    def __init__(self, slots: Slots):
        self.slots = slots

    def slot(self, count: int = 1) -> int:
        """Reserve consecutive slots; returns the first."""
        return self.slots.take(count)

    def add(self, emitter, slot: int, value: str) -> None:
        """Emit ``counters[slot] += value`` (an i64)."""
        text = emitter.text
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot}")
        old = text.define(f"load i64, ptr {at}")
        new = text.define(f"add i64 {old}, {value}")
        text.emit(f"store i64 {new}, ptr {at}")

    def add_lanes(self, emitter, slot: int, mask: str) -> None:
        """Emit ``counters[slot] += popcount(mask)``."""
        count = emitter.text.declare("llvm.ctpop.i32", "i32", ("i32",))
        lanes = emitter.text.define(f"call i32 {count}(i32 {mask})")
        self.add(emitter, slot, emitter.text.define(f"zext i32 {lanes} to i64"))

    @staticmethod
    def call(emitter, function: str, pointers: tuple[str, ...], numbers: tuple[object, ...]) -> None:
        """Emit the call of a native function: pointers, then i64 numbers."""
        arguments = [f"ptr {pointer}" for pointer in pointers] + [f"i64 {number}" for number in numbers]
        emitter.text.emit(f"call void @{function}({', '.join(arguments)})")

    @staticmethod
    def wide(emitter, number: str) -> str:
        """An i32 as i64."""
        return emitter.text.define(f"zext i32 {number} to i64")

    def on_block(self, emitter, block) -> None:
        """A basic block starts with ``emitter.mask`` running."""

    def on_guarded(self, emitter, node, mask: str) -> None:
        """An instruction under a guard; ``mask``: the running lanes whose guard holds."""

    def on_divergent_branch(self, emitter, node, taken: str, rest: str) -> None:
        """A branch whose condition may differ between lanes; taken, rest: the lanes that go either way."""

    def on_access(self, emitter, access, mask: str) -> None:
        """A load, store or atomic of the lanes in ``mask``, before its bounds check."""

    def on_warp_instruction(self, emitter, node, mask: str) -> None:
        """A shuffle, vote, match, reduction, syncwarp or fence of the lanes in ``mask``."""

    def on_shuffle(self, emitter, node, mask: str, source) -> None:
        """source: Lanes, the lane that each lane reads; itself where the instruction says that it reads none."""

    def on_park(self, emitter, node, earlier: str) -> None:
        """Lanes arrive at a barrier of the block or the grid to which lanes of their warp may come apart; ``earlier``: those
        that wait there already."""

    def on_release(self, emitter, node, mask: str) -> None:
        """The lanes of a warp go on after a barrier."""

    def collect(self, values: list[int]) -> Iterator[Reading]:
        """Readings from the summed slots of a launch, linear in them (simt/observe/linear.py)."""
        yield from ()

    def executed(self, values: list[int]) -> dict[int, int]:
        """Line of the PTX -> how often warps ran it, out of the same slots."""
        return {}


def native(function: str, pointers: int, numbers: int) -> str:
    """Declaration of a native function as ``Observer.call`` calls it."""
    return f"declare void @{function}({', '.join(['ptr'] * pointers + ['i64'] * numbers)})"


def laid_out(head: int, sizes: dict[int, int]) -> np.ndarray:
    """The zeroed state of native functions, int64: a head, then parts. sizes: field of the head that holds the part's place ->
    its length."""
    size = head + sum(sizes.values())
    pages = mmap.mmap(-1, 8 * size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)      # what is never touched costs nothing
    state = np.frombuffer(pages, np.int64)
    place = head
    for field, size in sizes.items():
        state[field] = place
        place += size
    return state
