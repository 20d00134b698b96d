"""What a right answer has to show, in the order in which a reader wants to hear of it. Runs in a process of its own."""

from __future__ import annotations

import contextlib
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import simt
from kernels.case import Case
from simt.observe.profile import Finding, LaunchProfile
from workbook import buffers, verify
from workbook.exercises import entry
from workbook.exercises.attempt import Attempt, Stop
from workbook.exercises.explain import located, told
from workbook.exercises.request import CONDUCT, RESULTS, Found
from workbook.exercises.result import Kind, Spent, Trouble, figure
from workbook.exercises.stubs import relative
from workbook.failure import Failure, broken

if TYPE_CHECKING:
    from workbook.exercises.entry import Budget, Exercise
    from workbook.exercises.request import Request
    from workbook.target import Target

Begin = Callable[[str], None]
FIXED_SEED = 1
SCHEDULES = ("forward", "reverse")
CHECKERS = ("race", "init", "sync")
ENOUGH_FAILURES = 6  # looking for the cause of a wrong result takes time
MOST_FINDINGS = 3
TOO_LARGE = "all smaller cases are right: is there a constant, of the grid or of a loop, that should grow with the size?"
NEVER_WRITTEN, READ_EARLY = "never written", "read before it is written"  # as workbook.diagnose says


def examine(asked: Request, begin: Begin) -> Found:
    """What the parts that were asked for find."""
    begin("importing the file")
    warnings.simplefilter("ignore")
    exercise = entry.find(asked.exercise)
    cases, spent = len(exercise.problem.cases) + (exercise.large is not None), ()
    try:
        examination = _Examination(exercise, Path(asked.path), asked.seed, begin)
        if RESULTS in asked.parts:
            examination.results()
        if CONDUCT in asked.parts:
            examination.precision_and_order()
            spent = tuple(examination.budgets())
            examination.large()
    except Stop as stop:
        return Found(stop.trouble, spent, cases)
    return Found(None, spent, cases)


class Broken(Stop):
    """A run that raised."""


class _Examination:
    def __init__(self, exercise: Exercise, path: Path, seed: int, begin: Begin) -> None:
        from workbook.target import choose

        self.exercise, self.seed, self.begin = exercise, seed, begin
        self.problem = exercise.problem
        self.attempt = Attempt(exercise.name, path, _own(exercise, path))
        self.target: Target = choose(None)

    def results(self) -> None:
        """Every case with every kind of inputs, from a fixed and from a fresh seed. Raises Stop with the clearest failure."""
        failures: list[tuple[verify.Problem, Failure]] = []
        with self.attempt.counting():
            for problem in self._problems():
                self.begin(f"running on {problem.label}")
                found = verify.verify(self.problem, self.attempt, problem, self.target)
                failures += [(problem, found)] if found else []
                if found is not None and found.final:
                    raise Stop(told(found, self.attempt.path))
                if len(failures) == ENOUGH_FAILURES:
                    break
        if not self.attempt.launched:
            raise Stop(Trouble("no kernel", *_not_launched(self.attempt.path)))
        if failures:
            problem, clearest = max(failures, key=self._clearness)
            if _may_be_order(clearest):
                self._blame_order(problem.case, clearest)
            raise Stop(Trouble("wrong", clearest.what, clearest.lines))

    def _blame_order(self, case: Case, wrong: Failure) -> None:
        """A race is the cause to tell, where there is one, and the wrong numbers are what came of it. Raises Stop."""
        for schedule in SCHEDULES:
            with contextlib.suppress(Broken):
                findings, _, _ = self._checked(case, schedule)
                if findings:
                    raise Stop(self._found(findings, f"{case}, {schedule} order", wrong.lines))

    def _clearness(self, failure: tuple[verify.Problem, Failure]) -> tuple[bool, bool, bool, int]:
        """A wrong result with a known cause tells most, then a ragged case of several blocks, whole numbers, a large case."""
        problem, found = failure
        ragged = problem.case == self.exercise.checked_case
        return found.recognised, ragged, problem.kind == "integers", math.prod(problem.case.values())

    def _problems(self) -> Iterator[verify.Problem]:
        """The ragged case of several blocks first: what fails there can be explained best."""
        ordered = sorted(enumerate(self.problem.cases), key=lambda pair: pair[1] != self.exercise.checked_case)
        for seed in (FIXED_SEED, self.seed):
            for index, case in ordered:
                yield from verify.problems(self.problem, case, np.random.default_rng([seed, index]))

    def precision_and_order(self) -> None:
        """No double precision, and nothing that depends on the order in which threads run. Raises Stop."""
        case = self.exercise.checked_case
        for index, schedule in enumerate(SCHEDULES):
            findings, launches, inputs = self._checked(case, schedule)
            if index == 0 and not self.exercise.float64:
                self._refuse_float64(launches, inputs, case)
            if findings:
                raise Stop(self._found(findings, f"{case}, {schedule} order"))

    def _checked(self, case: Case, schedule: str) -> tuple[list[Finding], list[LaunchProfile], dict[str, np.ndarray]]:
        """What the checkers find on a case when threads run in that order. Raises Broken."""
        self.begin(f"looking for races, unwritten memory and missed barriers on {case}, {schedule} order")
        os.environ["SIMT_SCHEDULE"] = schedule
        try:
            with simt.profile(check=CHECKERS, sample="none") as profile:
                inputs = self._run(case)
        finally:
            del os.environ["SIMT_SCHEDULE"]
        return [finding for finding in profile.findings if not finding.note], profile.launches, inputs

    def _run(self, case: Case) -> dict[str, np.ndarray]:
        """Run on fresh memory that nobody wrote. Raises Broken."""
        inputs = self.problem.make(case, np.random.default_rng([FIXED_SEED, len(self.problem.cases)]))
        memory = buffers.fresh(self.problem, self.attempt, case, inputs)
        try:
            self.attempt.run(memory, self.target.stream)
            self.target.synchronize()
        except Exception as error:
            raise Broken(told(broken(error, f"running on {case}", str(self.attempt.path)), self.attempt.path)) from None
        return inputs

    def _refuse_float64(self, launches: list[LaunchProfile], inputs: dict[str, np.ndarray], case: Case) -> None:
        dtypes = [array.dtype for array in inputs.values()]
        dtypes += [np.dtype(dtype) for _, dtype in self.problem.outputs(case, inputs).values()]
        if np.dtype(np.float64) in dtypes:
            return
        again = self.attempt.optimised()  # without optimisation, 2 * a[i] is computed in double precision
        compiled = [launch.code.ptx for launch in launches if launch.code and launch.kernel not in again]
        places = [place for ptx in (*compiled, *again.values()) for place in _doubles(ptx) if place[0] in self.attempt.own]
        if places:
            path, line = next((place for place in places if place[1]), places[0])
            line = line or None  # the compiler marks with line 0 what belongs to no single one
            raise Stop(Trouble("float64", "a kernel computes in double precision (float64)", (
                located(Path(path), line),
                "a Python number such as 0.5 is a float64, and so is an integer times a float32: write float32(0.5); on most",
                "GPUs float64 is 32 or 64 times slower",
            ), line))  # fmt: skip

    def _found(self, findings: list[Finding], where: str, wrong: tuple[str, ...] = ()) -> Trouble:
        first = findings[0]
        lines: list[str] = []
        for finding in findings[:MOST_FINDINGS]:
            lines += [*finding.text.splitlines(), *finding.advice.splitlines()]
        if len(findings) > MOST_FINDINGS:
            lines.append(f"and {len(findings) - MOST_FINDINGS} more")
        line = next((line for path, line in first.places if path in self.attempt.own), None)
        titles = {"race": "a race", "init": "memory is read that nobody wrote", "sync": "a barrier that threads miss"}
        title = f"{titles.get(first.kind, first.kind)}, on {where}"
        lines.append(f"what came of it: {wrong[0]}" if wrong else "the results were right all the same, by luck")
        kind: Kind = "race" if first.kind == "alias" else first.kind
        return Trouble(kind, title, tuple(line.replace(f"{entry.PROJECT}/", "") for line in lines), line)

    def budgets(self) -> Iterator[Spent]:
        """What each budget's counter says. Raises Stop for the first that is exceeded."""
        counted: dict[Case, list[LaunchProfile]] = {}
        for budget in self.exercise.budgets:
            if budget.case not in counted:
                self.begin(f"counting on {budget.case}")
                with simt.profile(sample="all") as profile:
                    self._run(budget.case)
                counted[budget.case] = profile.launches
            spent = Spent(budget.label, _value(counted[budget.case], budget), budget.at_most, str(budget.case))
            if spent.value > budget.at_most:
                raise Stop(self._exceeded(budget, spent, counted[budget.case]))
            yield spent

    def large(self) -> None:
        """Once on the large case, at the end: what else is wrong shows sooner and better on a small one. Raises Stop."""
        if self.exercise.large is None:
            return
        rng = np.random.default_rng([FIXED_SEED, len(self.problem.cases)])
        problem = next(one for one in verify.problems(self.problem, self.exercise.large, rng) if one.kind == "normal")
        self.begin(f"running on {problem.label}")
        found = verify.verify(self.problem, self.attempt, problem, self.target)
        if found is not None and found.final:
            raise Stop(told(found, self.attempt.path))
        if found is not None:
            raise Stop(Trouble("wrong", found.what, (*found.lines, TOO_LARGE)))

    def _exceeded(self, budget: Budget, spent: Spent, launches: list[LaunchProfile]) -> Trouble:
        title = f"right, but {figure(spent.value)} {budget.label}, budget {figure(budget.at_most)}"
        worst = _worst(launches, budget)
        if worst is None:
            return Trouble("budget", title, (f"counted on {budget.case}",))
        (path, line), here = worst
        lines = (f"counted on {budget.case}; most of it, {here}:", located(Path(path), line))
        return Trouble("budget", title, lines, line if path in self.attempt.own else None)


def _may_be_order(wrong: Failure) -> bool:
    """Whether a race may have made the result wrong; a missing barrier also lets a thread read what is not there yet."""
    text = "\n".join(wrong.lines)
    return READ_EARLY in text or NEVER_WRITTEN not in text


def _own(exercise: Exercise, path: Path) -> tuple[Path, ...]:
    """A solution may take its kernel from the ladder."""
    if path == exercise.solution_path.resolve() and exercise.answer_path != exercise.solution_path:
        return exercise.answer_path.resolve(), path
    return (path,)


def _not_launched(path: Path) -> tuple[str, tuple[str, ...]]:
    return "run launched no kernel of this file", (
        f"in {relative(path)}: run has to launch a @cuda.jit kernel that is written there: kernel[grid, block, stream](…)",
    )


def _value(launches: list[LaunchProfile], budget: Budget) -> float:
    total = sum(launch.counters[budget.counter] for launch in launches)
    if budget.per is None:
        return total
    requests = sum(launch.counters[budget.per] for launch in launches)
    return total / requests if requests else 0.0


def _worst(launches: list[LaunchProfile], budget: Budget) -> tuple[tuple[str, int], str] | None:
    """The line with the most above the budget, and how much it has."""
    totals: dict[tuple[str, int], list[int]] = {}
    for launch in launches:
        for place, counters in launch.lines.items():
            pair = totals.setdefault(place, [0, 0])
            pair[0] += counters.get(budget.counter, 0)
            pair[1] += counters.get(budget.per, 0) if budget.per else 0
    allowed = budget.at_most if budget.per else 0
    excess = {place: total - allowed * requests for place, (total, requests) in totals.items() if place[0]}
    if not excess or max(excess.values()) <= 0:
        return None
    place = max(excess, key=excess.__getitem__)
    total, requests = totals[place]
    return place, f"{figure(total / requests)} each time" if requests else str(total)


def _doubles(ptx: str) -> Iterator[tuple[str, int]]:
    """(file, line) of each PTX instruction that computes in .f64, as the .loc directives before it say.

    One that only moves or converts does not: print takes all its numbers as .f64.
    """
    files = {int(number): path for number, path in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, flags=re.MULTILINE)}
    place = ("", 0)
    for line in ptx.splitlines():
        if where := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line):
            place = files.get(int(where[1]), ""), int(where[2])
        elif re.match(r"\s*(?:@!?%\w+\s+)?(?!(?:mov|cvt|ld|st)\.)[a-z][\w.]*\.f64\b", line):
            yield place


