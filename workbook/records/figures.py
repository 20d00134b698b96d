"""Figures derived from records for people: speedups, FLOP/s, sectors per request. A stale run has none."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simt import model
from workbook import results
from workbook.records import schema, stale

if TYPE_CHECKING:
    from kernels.case import Case
    from kernels.ladder import Ladder, Step
    from workbook.records.schema import Document


@dataclasses.dataclass(frozen=True)
class Figures:
    """One run of one record. All but `step` is None where the record is stale; counters' figures also where it is measured."""

    step: Step
    time_ns: float | None = None
    speedup: float | None = None
    fastest_ns: int | None = None
    slowest_ns: int | None = None
    bound_by: str | None = None
    registers: int | None = None
    sectors_per_request_ld: float | None = None
    sectors_per_request_st: float | None = None
    bank_conflicts: int | None = None
    sampled: bool | None = None
    theoretical_occupancy_percent: float | None = None
    counters: dict[str, int] = dataclasses.field(default_factory=dict)


def of_ladder(document: Document, ladder: Ladder, case: Case) -> list[Figures]:
    """The ladder's steps at that size, in their order, as far as the record tells of them."""
    runs = {run["step"]: run for run in document["runs"] if run["case"] == dict(case)}
    there = [(step, runs[step.id]) for step in ladder.steps if step.id in runs]
    times = {step: None if stale.reasons(document, run) else time_ns(run) for step, run in there}
    first = times.get(ladder.steps[0]) if ladder.steps else None
    return [
        Figures(step)
        if times[step] is None
        else Figures(step, times[step], first / times[step] if first else None, **_details(document, run))
        for step, run in there
    ]


def time_ns(run: dict[str, Any]) -> float:
    """The modelled time, or the median of the samples."""
    return statistics.median(run["samples_ns"]) if "samples_ns" in run else run["time_ns"]


def problem_flops(ladder: Ladder, case: Case) -> int:
    """FLOP of the problem: the fewest that a step spends."""
    return min(step.cost(case).flops for step in ladder.steps)


def ladders_of(document: Document) -> list[str]:
    """Names of the ladders that a record tells of."""
    return list(dict.fromkeys(run["step"].partition("/")[0] for run in document["runs"]))


def find(documents: Sequence[Document], device: str, ladder: str) -> Document | None:
    """The record of a device that tells of the ladder."""
    return next((found for found in documents if found["device"] == device and ladder in ladders_of(found)), None)


def _details(document: Document, run: dict[str, Any]) -> dict[str, Any]:
    if document["kind"] == schema.MEASURED:
        return {"fastest_ns": min(run["samples_ns"]), "slowest_ns": max(run["samples_ns"])}
    longest = max(run["launches"], key=lambda launch: launch["time_ns"])
    counters = {name: counter["value"] for name, counter in run["counters"].items()}
    return {
        "bound_by": longest["bound_by"],
        "registers": longest["registers"],
        "sampled": run["sampled"],
        "theoretical_occupancy_percent": model.occupancy(
            model.load(document["device"]), math.prod(longest["block"]), longest["registers"], longest["shared_bytes"]
        ).percent,
        "counters": counters,
        **results.access_figures(counters),
    }
