"""Makes records: proves a ladder's steps, times them, and puts down what was counted or measured."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from simt import model
from simt.ptx.mangled import kernel_name
from workbook import climb, timing
from workbook.failure import Failure
from workbook.records import environment, measuring, published, schema
from workbook.records.schema import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernels.case import Case
    from kernels.ladder import Ladder, Step
    from workbook.target import Target
    from workbook.timing import Timing

SEED = 1  # counters and times of some steps depend on the inputs


@dataclasses.dataclass
class Made:
    """Runs and baselines as they stand in a record, and what failed: (step id, why); such a step is not in `runs`."""

    runs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    baselines: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    failures: list[tuple[str, Failure]] = dataclasses.field(default_factory=list)


def cases_of(ladder: Ladder, device: str) -> tuple[Case, ...]:
    """The sizes of which a record tells: the ladder's own, then those of published figures for this device."""
    return tuple(dict.fromkeys((ladder.timed_case, *published.cases(ladder.name, device))))


def make(
    ladders: Iterable[Ladder],
    target: Target,
    prove: bool,
    without: Collection[str] = (),
    watch: Callable[[str], None] = lambda text: None,
) -> Made:
    """Time every step of the ladders on `target`, but for the ids `without`, after proving it on small cases if `prove`.

    Raises climb.TooLarge.
    """
    made = Made()
    if target.kind == schema.MEASURED:
        target = measuring.Careful(target)
    for ladder in ladders:
        steps = [step for step in ladder.steps if step.id not in without]
        if prove:
            failures = climb.prove(ladder, target, SEED, steps, watch)
            made.failures += [(step.id, failure) for step, failure in failures.items()]
            steps = [step for step in steps if step not in failures]
        for case in cases_of(ladder, target.key):
            _race(ladder, target, case, steps, made, watch)
    return made


def document(family: str, target: Target, made: Made) -> Document:
    """The record of these runs, made here and now."""
    modelled = target.kind == schema.MODELLED
    head = {
        "schema": schema.SCHEMA,
        "family": family,
        "device": target.key,
        "kind": target.kind,
        "recorded": datetime.date.today().isoformat(),
    }
    if modelled:
        return {
            **head,
            "env": environment.compilers(),
            "model": {"version": model.MODEL_VERSION, "error_percent": model.MODEL_ERROR_PERCENT},
            "method": {"timer": "model", "seed": SEED, "one_block_in": timing.ONE_BLOCK_IN},
            "runs": made.runs,
        }
    return {
        **head,
        "env": environment.of_gpu(target.cuda, target.gpu),
        "method": {"timer": "cuda-event", "seed": SEED, "warm_ups": measuring.WARM_UPS, "l2": "flushed"},
        "runs": made.runs,
        "baselines": made.baselines,
    }


def _race(
    ladder: Ladder, target: Target, case: Case, steps: Sequence[Step], made: Made, watch: Callable[[str], None]
) -> None:
    race = climb.race(ladder, target, case, SEED)
    for step in steps:
        watch(f"{step.id}: timing at {case}")
        timed = race.time(step)
        if isinstance(timed, Failure):
            made.failures.append((step.id, timed))
        else:
            made.runs.append(run_of(step, case, timed, target))
    if target.kind == schema.MEASURED:
        for library, call in measuring.library_calls(ladder.name, race.buffers).items():
            watch(f"{library}: timing at {case}")
            samples = _samples(target.time(call), target)
            made.baselines.append({"ladder": ladder.name, "library": library, "case": dict(case), **samples})


def run_of(step: Step, case: Case, timed: Timing, target: Target) -> dict[str, Any]:
    """One entry of a record's "runs"."""
    head = {"step": step.id, "fingerprint": step.fingerprint, "case": dict(case)}
    return {**head, **(_counts(timed) if timed.kind == schema.MODELLED else _samples(timed, target))}


def _samples(timed: Timing, target: Target) -> dict[str, Any]:
    return {"samples_ns": list(timed.samples_ns), **environment.conditions(target.cuda)}


def _counts(timed: Timing) -> dict[str, Any]:
    """What the device counted; counters are totals over the launches."""
    counters: dict[str, dict[str, Any]] = {}
    for launch in timed.launches:
        for name, value in launch.counters.items():
            known = counters.setdefault(name, {"value": 0, "tag": schema.TAGS[0]})
            known["value"] += value
            known["tag"] = max(known["tag"], launch.tags.get(name, schema.TAGS[0]), key=schema.TAGS.index)
    return {
        "time_ns": round(timed.time_ns),
        "sampled": any(launch.sampled for launch in timed.launches),
        "launches": [
            {
                "kernel": kernel_name(launch.kernel),
                "grid": list(launch.grid),
                "block": list(launch.block),
                "registers": launch.registers,
                "shared_bytes": launch.shared_bytes,
                "local_bytes": launch.local_bytes,
                "time_ns": round(launch.time_ns),
                "bound_by": launch.bound_by,
            }
            for launch in timed.launches
        ],
        "counters": counters,
    }
