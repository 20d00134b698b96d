"""Advice: what a rule found, in words, with the line where it is and the gain that can be expected at most."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable

from simt.observe import names
from simt.report.subject import Place, Subject

LSU = "load/store unit"
GLOBAL = {
    "load": (names.GLOBAL_REQUESTS_LD, names.GLOBAL_SECTORS_LD, names.GLOBAL_BYTES_REQUESTED_LD),
    "store": (names.GLOBAL_REQUESTS_ST, names.GLOBAL_SECTORS_ST, names.GLOBAL_BYTES_REQUESTED_ST),
}
SHARED = {
    "load": (names.SHARED_REQUESTS_LD, names.SHARED_WAVEFRONTS_LD, names.SHARED_CONFLICTS_LD),
    "store": (names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST, names.SHARED_CONFLICTS_ST),
}
LOCAL = (names.LOCAL_REQUESTS_LD, names.LOCAL_REQUESTS_ST)
ATOMICS = (names.ATOMICS_GLOBAL, names.ATOMICS_SHARED)
REQUESTS = (*(GLOBAL[word][0] for word in GLOBAL), *(SHARED[word][0] for word in SHARED), *LOCAL, *ATOMICS)
"""What a warp asks of the load/store unit."""

Counters = dict[str, int]
MOST_LINES = 3              # that one rule names
WORTH = 0.05                # part of a total from which a line is named


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """rule: its name;  text: the line and the numbers;  remedy: what to do

    gain_percent: of the launch's time, at most; None where nothing is known
    """

    rule: str
    text: str
    remedy: str
    gain_percent: float | None
    file: str
    line: int


def added(counters: Counters, *wanted: str) -> int:
    return sum(counters.get(name, 0) for name in wanted)


def advise(subject: Subject, rule: str, place: Place | None, text: str, remedy: str, gain: float | None) -> Advice:
    """gain: part of the time, 0 to 1."""
    file, line = place or ("", 0)
    return Advice(rule, text, remedy, None if gain is None else round(100 * gain, 1), file, line)


def worst_lines(subject: Subject, excess: Callable[[Counters], float], total: float) -> list[tuple[Place, Counters, float]]:
    """Lines by what they have too much of: (place, its counters, part of ``total``), the worst first, few and worth it."""
    lines = subject.profile.lines.items() if total else ()
    found = [(place, counters, excess(counters) / total) for place, counters in lines]
    worth = sorted((item for item in found if item[2] >= WORTH), key=lambda item: (-item[2], item[0]))
    return worth[:MOST_LINES]
