"""The listing: each line of the kernels' files with its counters beside its text. source.py adds PTX and SASS."""
from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable

from simt.observe import names
from simt.report.subject import Subject

AROUND = 2                  # lines without counters shown between two that have some


@dataclasses.dataclass(frozen=True, slots=True)
class ListedLine:
    """part: of what bounds the launch, 0 to 1;  counters: {} for a line that runs nothing on the device"""

    file: str
    line: int
    text: str
    part: float
    counters: dict[str, int]


def listing(subject: Subject) -> dict[str, list[ListedLine]]:
    """By file: from the first to the last line that ran, those that did not run between them where they are few."""
    parts = dict(subject.hot_lines)
    found: dict[str, list[ListedLine]] = {}
    for file, line in sorted(subject.profile.lines):
        shown = found.setdefault(file, [])
        if shown and line - shown[-1].line <= AROUND + 1:
            shown += [made(subject, parts, file, between) for between in range(shown[-1].line + 1, line)]
        shown.append(made(subject, parts, file, line))
    return found


def made(subject: Subject, parts: dict, file: str, line: int) -> ListedLine:
    place, text = (file, line), linecache.getline(file, line).rstrip()
    return ListedLine(file, line, text, parts.get(place, 0.0), subject.profile.lines.get(place, {}))


def ratio(over: tuple[str, ...], under: tuple[str, ...]) -> Callable[[dict[str, int]], float | None]:
    def value(counters: dict[str, int]) -> float | None:
        below = sum(counters.get(name, 0) for name in under)
        return sum(counters.get(name, 0) for name in over) / below if below else None

    return value


def total(*added: str) -> Callable[[dict[str, int]], float | None]:
    def value(counters: dict[str, int]) -> float | None:
        return sum(counters.get(name, 0) for name in added) or None

    return value


COLUMNS: tuple[tuple[str, Callable[[dict[str, int]], float | None]], ...] = (
    ("instr", total(names.INSTRUCTIONS)),
    ("lanes", ratio((names.THREAD_INSTRUCTIONS,), (names.INSTRUCTIONS,))),
    ("sect/req", ratio((names.GLOBAL_SECTORS_LD, names.GLOBAL_SECTORS_ST),
                       (names.GLOBAL_REQUESTS_LD, names.GLOBAL_REQUESTS_ST))),
    ("conflicts", total(names.SHARED_CONFLICTS_LD, names.SHARED_CONFLICTS_ST)),
)
"""Counters of a line that the view has room for; None where there is nothing."""
