"""Derives the climb's figures: speedups, FLOP/s, percent of roofline, and what the counters add up to."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from kernels.broken import Broken
from simt.observe import names
from workbook.climb import Climb, first_of

if TYPE_CHECKING:
    from kernels.case import Case
    from kernels.ladder import Step
    from workbook.timing import Timing

SCHEMA = 1
CONFLICTS = (names.SHARED_CONFLICTS_LD, names.SHARED_CONFLICTS_ST)
ROOFLINE_DTYPES = {2: "fp16", 4: "fp32", 8: "fp64"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One step's figures; None where the step failed or the device does not count."""

    step: str
    changed: str
    verified: bool
    cases_verified: tuple[Case, ...]
    time_ns: float | None = None
    speedup_first: float | None = None
    speedup_previous: float | None = None
    gflops: float | None = None
    percent_of_roofline: float | None = None
    bound_by: str | None = None
    sectors_per_request_ld: float | None = None
    sectors_per_request_st: float | None = None
    bank_conflicts: int | None = None
    registers: int | None = None
    theoretical_occupancy_percent: float | None = None
    sampled: bool | None = None
    launches_ns: tuple[float, ...] = ()
    counters: dict[str, int] = dataclasses.field(default_factory=dict)
    terms_ns: dict[str, float] = dataclasses.field(default_factory=dict)


def problem_flops(climb: Climb) -> int:
    """FLOP of the problem: the fewest that a timed rung spends, so that no rung is credited for redundant work."""
    return min(step.cost(climb.case).flops for step in climb.timings)


def roof_gflops(climb: Climb) -> float | None:
    """min(peak, bandwidth x FLOP / minimum bytes); a problem without FLOP counts as one, which leaves the bandwidth."""
    return climb.target.roof_gflops(max(1, problem_flops(climb)), climb.minimum_bytes, roof_dtype(climb))


def roof_dtype(climb: Climb) -> str:
    """The arithmetic whose peak is the roof: the ladder's, or floats as wide as its outputs."""
    return climb.ladder.peak or ROOFLINE_DTYPES[climb.dtype.itemsize]


def rows(climb: Climb) -> tuple[Row, ...]:
    """One row per step of the climb, in its order."""
    return tuple(
        timed_row(climb, result.step, result.cases_verified)
        or Row(result.step.id, _changed(result.step), False, result.cases_verified)
        for result in climb.results
    )


def timed_row(climb: Climb, step: Step, cases_verified: tuple[Case, ...] = ()) -> Row | None:
    """The figures of a step that the climb timed, or None."""
    timing = climb.timings.get(step)
    if timing is None:
        return None
    flops, roof = problem_flops(climb), roof_gflops(climb)
    return Row(
        step=step.id,
        changed=_changed(step),
        verified=bool(cases_verified),
        cases_verified=cases_verified,
        time_ns=timing.time_ns,
        speedup_first=_speedup(climb, first_of(step), timing.time_ns),
        speedup_previous=_speedup(climb, step.previous, timing.time_ns),
        gflops=flops / timing.time_ns,
        percent_of_roofline=None if roof is None else 100 * max(1, flops) / timing.time_ns / roof,
        **_counted(climb, timing),
    )


def _changed(step: Step) -> str:
    """What the step's docstring says it changed; empty for a file that is no Python or has no such docstring."""
    try:
        return step.doc["Changed"]
    except Broken:
        return ""


def _speedup(climb: Climb, baseline: Step | None, time_ns: float) -> float | None:
    timing = climb.timings.get(baseline) if baseline else None
    return timing.time_ns / time_ns if timing else None


def _counted(climb: Climb, timing: Timing) -> dict[str, Any]:
    """Sums over the step's launches; registers, occupancy and the bound of its longest launch."""
    launches = timing.launches
    if not launches:
        return {}
    longest = max(launches, key=lambda launch: launch.time_ns)
    counters = total([launch.counters for launch in launches])
    return {
        "bound_by": longest.bound_by,
        **access_figures(counters),
        "registers": longest.registers,
        "theoretical_occupancy_percent": climb.target.occupancy_percent(longest),
        "sampled": any(launch.sampled for launch in launches),
        "launches_ns": tuple(launch.time_ns for launch in launches),
        "counters": counters,
        "terms_ns": total([launch.terms for launch in launches]),
    }


def access_figures(counters: dict[str, int]) -> dict[str, Any]:
    """The fields of Row that say how memory was accessed, from a step's counters."""
    return {
        "sectors_per_request_ld": _ratio(counters, names.GLOBAL_SECTORS_LD, names.GLOBAL_REQUESTS_LD),
        "sectors_per_request_st": _ratio(counters, names.GLOBAL_SECTORS_ST, names.GLOBAL_REQUESTS_ST),
        "bank_conflicts": sum(counters.get(name, 0) for name in CONFLICTS),
    }


def total(dicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Key-wise sum."""
    return {key: sum(d.get(key, 0) for d in dicts) for key in dict.fromkeys(key for d in dicts for key in d)}


def _ratio(counters: dict[str, int], over: str, under: str) -> float | None:
    return counters.get(over, 0) / counters[under] if counters.get(under) else None


def as_json(climb: Climb, table: tuple[Row, ...]) -> dict[str, Any]:
    """The climb as the document that `--json` prints, schema 1. Derived figures keep 6 significant digits."""
    return {
        "schema": SCHEMA,
        "family": climb.ladder.name,
        "device": climb.target.key,
        "kind": climb.target.kind,
        "case": dict(climb.case),
        "seed": climb.seed,
        "steps": [_step_json(row) for row in table],
    }


def _step_json(row: Row) -> dict[str, Any]:
    document = {
        field.name: _plain(getattr(row, field.name))
        for field in dataclasses.fields(Row)
        if field.name not in ("changed", "terms_ns", "sampled", "launches_ns", "counters")
    }
    document["cases_verified"] = [dict(case) for case in row.cases_verified]
    document["time_ns"] = None if row.time_ns is None else round(row.time_ns)
    return {**document, "model_error_percent": None, "sampled": row.sampled, "counters": row.counters}


def _plain(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
