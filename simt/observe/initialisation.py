"""Finds reads of shared, local and fresh device memory that nobody has written (simt/observe/written.py)."""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simt.observe.checker import Actor, Checker, Extent, Hazard
from simt.observe.observer import ACTIONS, laid_out, native

SPACES = ("global", "shared", "local")


class Initialisation(Checker):
    NAME = "init"
    FIELD = "init_state"
    DECLARATIONS = (native("init_access", 3, 7),)

    @classmethod
    def symbols(cls) -> dict[str, Callable]:
        from simt.observe import written

        return {"init_access": written.init_access}

    @classmethod
    def state(cls, extent: Extent) -> np.ndarray:
        from simt.observe import written as w

        shared_words, local_words = (max(-(-size // w.WORD_BYTES), 1) for size in (extent.shared_bytes, extent.local_bytes))
        sizes = {w.SHARED_AT: shared_words * extent.resident, w.LOCAL_AT: local_words * extent.threads * extent.resident,
                 w.RANGES_AT: w.RANGE * len(extent.fresh), w.FOUND_AT: w.MAX_FINDINGS * w.FINDING}
        state = laid_out(w.HEADER, sizes)
        state[[w.SELF, w.RESIDENT, w.THREADS, w.SHARED_WORDS, w.LOCAL_WORDS, w.RANGES]] = \
            state.ctypes.data, extent.resident, extent.threads, shared_words, local_words, len(extent.fresh)
        ranges = [number for start, marks in sorted(extent.fresh.items())
                  for number in (start, start + len(marks), marks.ctypes.data)]
        state[state[w.RANGES_AT]:state[w.RANGES_AT] + len(ranges)] = ranges
        return state

    def on_access(self, emitter, access, mask: str) -> None:
        if access.space not in SPACES:
            return
        site = access.site
        emitter.memory.spill_addresses(access)
        numbers = (self.wide(emitter, mask), site.bytes, site.index, ACTIONS.index(site.action), SPACES.index(access.space),
                   self.wide(emitter, "%warp"), emitter.context.load("block"))
        self.call(emitter, "init_access", ("%field.init_state", "%field.init_state", "%addresses"), numbers)

    def hazards(self, state: np.ndarray, values: list[int]) -> Iterator[Hazard]:
        from simt.observe import written as w

        for k in range(int(state[w.FOUND])):
            site, who, address, space, count = state[state[w.FOUND_AT] + k * w.FINDING:][:w.FINDING].tolist()
            yield Hazard("init", "", (Actor(*divmod(who - 1, w.MAX_THREADS), site=site, action="read"),), count, SPACES[space],
                         address)
