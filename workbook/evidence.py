"""Why a step does not pay: the counters and the model's terms that moved against it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simt.observe import names
from workbook import units
from workbook.results import Row

PAYS_FROM = 1.01  # below one percent a step is a draw
MOVED_FROM = 1.05
MOST = 5

LABELS = {
    names.INSTRUCTIONS: "PTX instructions",
    names.instructions("imul"): "integer multiplies",
    names.instructions("int"): "integer additions",
    names.instructions("logic"): "logic and moves",
    names.instructions("branch"): "branches",
    names.GLOBAL_REQUESTS_LD: "global load requests",
    names.GLOBAL_REQUESTS_ST: "global store requests",
    names.GLOBAL_SECTORS_LD: "global load sectors",
    names.GLOBAL_SECTORS_ST: "global store sectors",
    names.BLOCK_SECTORS_LD: "distinct sectors that blocks load",
    names.SHARED_WAVEFRONTS_LD: "shared load wavefronts",
    names.SHARED_WAVEFRONTS_ST: "shared store wavefronts",
    names.SHARED_CONFLICTS_LD: "bank conflicts of loads",
    names.SHARED_CONFLICTS_ST: "bank conflicts of stores",
    names.LOCAL_REQUESTS_LD: "local (spill) loads",
    names.LOCAL_REQUESTS_ST: "local (spill) stores",
    names.BARRIERS: "barriers",
    names.DIVERGENT_BRANCHES: "divergent branches",
    names.ATOMICS_GLOBAL: "global atomics",
    names.instructions("warp"): "shuffles and votes",
}


def explain(before: Row, after: Row) -> list[str]:
    """Empty when `after` pays or lacks counters; else a headline and the figures, the largest changes first."""
    if not after.counters or not before.counters or after.speedup_previous is None:
        return []
    if after.speedup_previous >= PAYS_FROM:
        return []
    verdict = "gains nothing" if after.speedup_previous > 2 - PAYS_FROM else "is slower"
    speed = units.digits(after.speedup_previous)
    lines = [
        f"{after.step} {verdict}: {speed}x the speed of {before.step}. What was counted:",
        _bound(before, after),
        *_launches(before, after),
    ]
    old, new = _percent(before.theoretical_occupancy_percent), _percent(after.theoretical_occupancy_percent)
    if before.registers != after.registers or old != new:
        lines.append(f"registers {before.registers} -> {after.registers}, theoretical occupancy {old} -> {new}")
    moved = sorted(_moves(before, after), reverse=True)[:MOST]
    return lines + ([text for _, text in moved] or ["no counter moved by 5 % or more"])


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} %"


def _bound(before: Row, after: Row) -> str:
    old, new = _term(before, after, before.bound_by), _term(before, after, after.bound_by)
    if before.bound_by == after.bound_by:
        return f"bound by {after.bound_by} as before: {new}"
    return f"was bound by {before.bound_by}: {old}; now by {after.bound_by}: {new}"


def _term(before: Row, after: Row, name: str | None) -> str:
    times = (row.terms_ns.get(name or "", 0.0) for row in (before, after))
    return " -> ".join(units.duration(time_ns) for time_ns in times)


def _launches(before: Row, after: Row) -> Iterator[str]:
    """What each launch takes, where either step has several: the bound is that of the longest alone."""
    if max(len(before.launches_ns), len(after.launches_ns)) > 1:
        old, new = (" + ".join(map(units.duration, row.launches_ns)) for row in (before, after))
        yield f"launches {old} -> {new}"


def _moves(before: Row, after: Row) -> Iterator[tuple[float, str]]:
    for counter, label in LABELS.items():
        old, new = before.counters.get(counter, 0), after.counters.get(counter, 0)
        weight = abs(math.log((new + 1) / (old + 1)))
        if weight >= math.log(MOVED_FROM):
            factor = f" ({units.digits(new / old)}x)" if old and new else ""
            yield weight, f"{label} {units.count(old)} -> {units.count(new)}{factor}"
