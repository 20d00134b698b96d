"""Compares a modelled record with a fresh count: which step got slower or faster, and by which counter."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from kernels.case import Case
from kernels.ladder import load_ladder
from workbook import evidence, units
from workbook.records import stale
from workbook.records.schema import Document

MOST = 8  # counters told of one step
ROUNDING_NS = 1  # times are rounded to whole nanoseconds, and sums of floats may round the other way
RESOURCES = ("registers", "shared_bytes", "local_bytes", "grid", "block", "kernel")
WHERE = "{step} on {device} at {case}"


@dataclasses.dataclass(frozen=True)
class Trouble:
    """One run that no longer holds: what happened, in one line, and the numbers, the largest change first."""

    what: str
    details: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((self.what, *(f"    {line}" for line in self.details)))


def troubles(recorded: Document, counted: list[dict[str, Any]] | None, ladders: Sequence[str]) -> list[Trouble]:
    """What is wrong with the runs of `ladders` in a record. `counted`: the same runs now; None where they cannot be counted."""
    now = {_key(run): run for run in counted or ()}
    found = []
    for run in recorded["runs"]:
        if run["step"].partition("/")[0] in ladders:
            fresh = now.pop(_key(run), None)
            found += _of_run(recorded, run, fresh, counted is not None)
    found += [Trouble(f"{_where(recorded, run)}: not recorded yet", ()) for run in now.values()]
    if counted is None:
        found += _not_measured(recorded, ladders)
    return found


def _of_run(recorded: Document, run: dict[str, Any], fresh: dict[str, Any] | None, is_counted: bool) -> list[Trouble]:
    causes = [f"stale: {reason}" for reason in stale.reasons(recorded, run)]
    if not is_counted:
        return [Trouble(f"{_where(recorded, run)}: stale", tuple(causes))] if causes else []
    if fresh is None:
        return [Trouble(f"{_where(recorded, run)}: recorded, but not counted now", tuple(causes))]
    moved = _moved(run, fresh)
    if not moved and not causes and abs(fresh["time_ns"] - run["time_ns"]) <= ROUNDING_NS:
        return []
    return [Trouble(f"{_where(recorded, run)}: {_verdict(run, fresh, moved)}", (*moved, *causes))]


def _verdict(run: dict[str, Any], fresh: dict[str, Any], moved: list[str]) -> str:
    before, after = run["time_ns"], fresh["time_ns"]
    times = f"{units.duration(before)} -> {units.duration(after)} ({before} -> {after} ns)"
    if abs(after - before) <= ROUNDING_NS:
        return "counters moved, the time did not" if moved else "stale, though nothing moved"
    word, percent = ("SLOWER", 100 * (after / before - 1)) if after > before else ("faster", 100 * (before / after - 1))
    return f"{word} by {units.digits(percent)} %, {times}, bound by {_bound(run)} -> {_bound(fresh)}"


def _bound(run: dict[str, Any]) -> str:
    return max(run["launches"], key=lambda launch: launch["time_ns"])["bound_by"]


def _moved(run: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Counters and resources that are not equal; == decides, and the largest change comes first."""
    changes = []
    for name in dict.fromkeys((*run["counters"], *fresh["counters"])):
        before, after = run["counters"].get(name), fresh["counters"].get(name)
        if before != after:
            changes.append((_size(before, after), _counter(name, before, after)))
    changes.sort(key=lambda change: -change[0])
    lines = [line for _, line in changes[:MOST]]
    if len(changes) > MOST:
        lines.append(f"and {len(changes) - MOST} more counters")
    return [*lines, *_resources(run["launches"], fresh["launches"])]


def _size(before: dict[str, Any] | None, after: dict[str, Any] | None) -> float:
    if before is None or after is None:
        return 0.0
    return abs(after["value"] - before["value"]) / max(min(before["value"], after["value"]), 1)


def _counter(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    title = f"{name} ({evidence.LABELS[name]})" if name in evidence.LABELS else name
    if before is None or after is None:
        return f"{title}: {'was' if after is None else 'is'} counted {'only then' if after is None else 'only now'}"
    tags = "" if before["tag"] == after["tag"] else f", {before['tag']} -> {after['tag']}"
    factor = f", x{units.digits(after['value'] / before['value'])}" if before["value"] and after["value"] else ""
    return f"{title}: {before['value']} -> {after['value']}{factor}{tags}"


def _resources(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    if len(before) != len(after):
        return [f"launches: {len(before)} -> {len(after)}"]
    return [
        f"{new['kernel']}: {field} {old[field]} -> {new[field]}"
        for old, new in zip(before, after, strict=True)
        for field in RESOURCES
        if old[field] != new[field]
    ]


def _not_measured(recorded: Document, ladders: Sequence[str]) -> list[Trouble]:
    """Steps of the ladders that a measured record does not tell of."""
    there = {run["step"] for run in recorded["runs"]}
    steps = [step for name in ladders for step in load_ladder(name)]
    return [Trouble(f"{step.id} on {recorded['device']}: not recorded yet", ()) for step in steps if step.id not in there]


def _key(run: dict[str, Any]) -> tuple[str, Case]:
    return run["step"], Case(**run["case"])


def _where(recorded: Document, run: dict[str, Any]) -> str:
    return WHERE.format(step=run["step"], device=recorded["device"], case=Case(**run["case"]))
