"""The shape of a checker: an observer that remembers what accesses did, and afterwards says what was wrong.

While a kernel runs, native functions work on the checker's state, one array of int64 for the whole launch; launches that are
checked run on one worker thread, so findings never depend on the number of threads.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from simt.observe.observer import Observer

VERBS = ("read", "write", "atomic")         # of ACTIONS


@dataclasses.dataclass(frozen=True, slots=True)
class Actor:
    """A thread at a place in the code. site: number of a memory access, or -1; action: "read", "write", "atomic" or "" """

    block: int
    thread: int
    site: int
    action: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Hazard:
    """One finding in bare numbers; simt/runtime/findings.py tells it in words.

    kind: "race", "alias", "init" or "sync";  what: which case of the kind
    actors: the threads involved, in the order of the launch
    space, address: of the memory, in its own space; "" and 0 where none is involved
    count: how often it happened, at least
    lanes: of the warp concerned, a bit each;  node: the instruction, where it is no access
    apart: two threads of one warp (0), one block (1) or two blocks (2)
    """

    kind: str
    what: str
    actors: tuple[Actor, ...]
    count: int
    space: str = ""
    address: int = 0
    lanes: int = 0
    apart: int = 0
    node: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """What a launch has, in threads of a block, blocks, bytes of shared memory of a block, of local memory of a thread, and of
    the global memory that it may touch, apart from what it only reads.

    resident: blocks that live at once, with shared and local memory of their own: 1, or all those of a cooperative launch
    sites: accesses of the kernel;  harmless: those whose memory nobody writes in this launch
    fresh: marks of the device memory that is followed: start -> uint8 of each byte, 1 once it has been written
    """

    threads: int
    blocks: int
    resident: int
    shared_bytes: int
    local_bytes: int
    global_bytes: int
    sites: int
    harmless: frozenset[int]
    fresh: dict[int, np.ndarray]


class Checker(Observer):
    """NAME: what people ask for. FIELD: the context's pointer to the state; the code finds it in ``%field.FIELD``; None where
    the counters suffice. Native functions are Numba cfuncs."""

    NAME = ""
    FIELD: str | None = None

    @classmethod
    def state(cls, extent: Extent) -> np.ndarray | None:
        """A fresh state for a launch, int64."""
        return None

    def hazards(self, state: np.ndarray | None, values: list[int]) -> Iterator[Hazard]:
        """What was found. values: the summed counters."""
        yield from ()
