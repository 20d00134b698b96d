"""Climbs a ladder: proves every step on small cases, then times it at one size. The figures come from results.py."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbook import verify
from workbook.failure import Failure, broken
from workbook.timing import Timing

if TYPE_CHECKING:
    from kernels.case import Case
    from kernels.ladder import Ladder, Step
    from workbook.target import Target


class TooLarge(MemoryError):
    """A timed case whose arrays do not fit in memory."""


Watch = Callable[[str], None]
TIMED_STREAM = 1 << 20  # the timed inputs' place in the seed sequence, apart from the verified cases' 0, 1, 2, …


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What one step did. `cases_verified` came out right; `timing` is None for a step that failed."""

    step: Step
    cases_verified: tuple[Case, ...]
    failure: Failure | None
    timing: Timing | None


@dataclasses.dataclass(frozen=True)
class Climb:
    """`timings` holds every time that was taken, by step: also the rungs that a single asked-for step compares with."""

    ladder: Ladder
    target: Target
    case: Case
    seed: int
    minimum_bytes: int
    dtype: np.dtype
    results: tuple[StepResult, ...]
    timings: dict[Step, Timing]


def climb(ladder: Ladder, target: Target, case: Case, seed: int, steps: Sequence[Step], watch: Watch) -> Climb:
    """Verify `steps` on the ladder's cases, then time them on `case`; `watch` is told what begins. Raises TooLarge."""
    watch("making inputs and references")
    proofs = _proofs(ladder, seed)
    timed = race(ladder, target, case, seed)
    results: list[StepResult] = []
    lost: Failure | None = None
    for step in steps:
        result = StepResult(step, (), lost, None) if lost else _prove_and_time(ladder, step, proofs, timed, watch)
        results.append(result)
        if result.failure is not None and lost is None:
            lost = _device_lost(target, step)
    timings = {result.step: result.timing for result in results if result.timing is not None}
    for step in () if lost else baselines(steps):
        watch(f"{step.id}: timing, for the speedup")
        timing = timed.time(step)
        if isinstance(timing, Timing):
            timings[step] = timing
    return Climb(ladder, target, case, seed, timed.minimum_bytes, timed.dtype, tuple(results), timings)


def prove(ladder: Ladder, target: Target, seed: int, steps: Sequence[Step], watch: Watch) -> dict[Step, Failure]:
    """Verify `steps` on the ladder's cases as climb() does. The steps that fail, and why."""
    proofs = _proofs(ladder, seed)
    failures: dict[Step, Failure] = {}
    lost: Failure | None = None
    for step in steps:
        failure = lost or _prove(ladder, step, proofs, target, watch)[1]
        if failure is not None:
            failures[step] = failure
            lost = lost or _device_lost(target, step)
    return failures


def race(ladder: Ladder, target: Target, case: Case, seed: int) -> Race:
    """What times steps on `case`. Raises TooLarge."""
    try:
        return Race(ladder, case, np.random.default_rng([seed, TIMED_STREAM]), target)
    except Exception as error:
        if isinstance(error, MemoryError) or "OUT_OF_MEMORY" in str(error):
            raise TooLarge(f"{case} does not fit in memory: {error}") from error
        raise


def timed(ladder: Ladder, target: Target, case: Case, seed: int, steps: Sequence[Step]) -> Climb:
    """Times steps and proves none. Raises TooLarge, RuntimeError for one that fails."""
    timer = race(ladder, target, case, seed)
    timings: dict[Step, Timing] = {}
    for step in steps:
        timing = timer.time(step)
        if isinstance(timing, Failure):
            raise RuntimeError("\n".join((f"{step.id}: {timing.what}", *timing.lines)))
        timings[step] = timing
    return Climb(ladder, target, case, seed, timer.minimum_bytes, timer.dtype, (), timings)


def watched(ladder: Ladder, steps: Sequence[Step]) -> int:
    """How often climb() calls `watch` when no step fails."""
    return 1 + len(steps) * (len(ladder.kinds) * len(ladder.cases) + 1) + len(baselines(steps))


def baselines(steps: Sequence[Step]) -> list[Step]:
    """What the speedups of `steps` compare with and is not among `steps`: the first rung, and those before."""
    wanted = dict.fromkeys(other for step in steps for other in (first_of(step), step.previous) if other is not None)
    return [step for step in wanted if step not in steps]


def first_of(step: Step) -> Step:
    """The lowest rung of the step's ladder."""
    while step.previous is not None:
        step = step.previous
    return step


def _proofs(ladder: Ladder, seed: int) -> list[verify.Problem]:
    """Every kind of inputs of every case, with the right results."""
    return [
        problem
        for index, small in enumerate(ladder.cases)
        for problem in verify.problems(ladder, small, np.random.default_rng([seed, index]))
    ]


def _prove_and_time(ladder: Ladder, step: Step, proofs: Sequence[verify.Problem], timed: Race, watch: Watch) -> StepResult:
    right, failure = _prove(ladder, step, proofs, timed.target, watch)
    if failure is not None:
        return StepResult(step, right, failure, None)
    watch(f"{step.id}: timing")
    timing = timed.time(step)
    if isinstance(timing, Failure):
        return StepResult(step, right, timing, None)
    return StepResult(step, right, None, timing)


def _prove(
    ladder: Ladder, step: Step, proofs: Sequence[verify.Problem], target: Target, watch: Watch
) -> tuple[tuple[Case, ...], Failure | None]:
    """The cases that came out right, and the clearest failure."""
    failures: list[Failure] = []
    wrong: set[Case] = set()
    for index, problem in enumerate(proofs):
        watch(f"{step.id}: verifying on {problem.label}")
        failure = verify.verify(ladder, step, problem, target)
        if failure is not None:
            failures.append(failure)
            wrong.add(problem.case)
        if failure is not None and failure.final:
            wrong |= {untried.case for untried in proofs[index:]}
            break
    right = tuple(case for case in ladder.cases if case not in wrong)
    return right, next((failure for failure in failures if failure.recognised), failures[0] if failures else None)


class Race:
    """The timed case's inputs and outputs on the device, shared by all steps."""

    def __init__(self, ladder: Ladder, case: Case, rng: np.random.Generator, target: Target) -> None:
        self.case, self.target = case, target
        self.inputs = inputs = ladder.make(case, rng)
        self.buffers = {name: target.upload(array) for name, array in inputs.items()}
        self.minimum_bytes = sum(array.nbytes for name, array in inputs.items() if name not in ladder.repeated)
        for name, (shape, dtype) in ladder.outputs(case, inputs).items():
            self.dtype = np.dtype(dtype)
            self.buffers[name] = target.empty(shape, dtype)
            self.minimum_bytes += math.prod(shape) * self.dtype.itemsize

    def time(self, step: Step) -> Timing | Failure:
        try:
            scratch = step.scratch(self.case, self.inputs)
            extra = {name: self.target.empty(shape, dtype) for name, (shape, dtype) in scratch.items()}
            launch = step.prepared({**self.buffers, **extra})
            return self.target.time(lambda: launch(self.target.stream))
        except Exception as error:
            return broken(error, f"timing {step.id}", str(step.path))


def _device_lost(target: Target, step: Step) -> Failure | None:
    """After a fault a real GPU refuses all further work of this process."""
    try:
        target.synchronize()
    except Exception as error:
        return Failure("not run", (f"the device accepts no more work since {step.id} failed: {error}",))
    return None
