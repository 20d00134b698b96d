"""What the maintainer wants to know: no exercise is solved as it comes, none is unsolvable, nothing is forgotten."""

from __future__ import annotations

import difflib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workbook import writing
from workbook.exercises import entry, regular, stubs
from workbook.exercises.check import check
from workbook.exercises.entry import FEWEST_HINTS, PROJECT, Exercise
from workbook.exercises.processes import Watch
from workbook.exercises.result import Result

SEED = 2
LIMIT_S = 300.0  # for one stage: several checks share the machine
FIRST_DIFFERENCES = 3

Tell = Callable[[str], None]


def write_stubs(exercises: Sequence[Exercise]) -> list[Path]:
    """Write every stub that is missing or differs, also over a reader's work. Returns the paths. Raises BrokenMarkers."""
    written = []
    for exercise in exercises:
        text = stubs.stub(exercise)
        if _text(exercise.stub_path) != text:
            exercise.stub_path.parent.mkdir(parents=True, exist_ok=True)
            writing.replace(exercise.stub_path, text)
            written.append(exercise.stub_path)
    return written


def faults(exercises: Sequence[Exercise], tell: Tell = lambda line: None) -> list[str]:
    """Everything that is wrong, one line each; `tell` hears of each check as it ends."""
    found = [*entry.broken(), *orphans(), *twice(exercises)]
    for exercise in exercises:
        found += static_faults(exercise)
    return found + run_faults(exercises, tell)


def twice(exercises: Sequence[Exercise]) -> list[str]:
    names = [exercise.name for exercise in exercises]
    return [f"{name}: listed twice" for name in sorted({name for name in names if names.count(name) > 1})]


def orphans() -> list[str]:
    """Files below exercises/ and solutions/ that belong to no exercise."""
    if entry.broken():
        return []  # whose they are is not known
    everything = entry.exercises()
    wanted = {path for exercise in everything for path in (exercise.stub_path, exercise.solution_path)}
    tools = {PROJECT / "exercises" / "test_exercises.py"}
    there = [path for folder in ("exercises", "solutions") for path in sorted((PROJECT / folder).rglob("*.py"))]
    return [f"{stubs.relative(path)}: no exercise has this file" for path in there if path not in wanted | tools]


def static_faults(exercise: Exercise) -> list[str]:
    """What can be seen without running anything."""
    found = []
    if len([hint for hint in exercise.hints if hint.strip()]) < max(FEWEST_HINTS, len(exercise.hints)):
        found.append(f"{exercise.name}: needs at least {FEWEST_HINTS} hints, none of them empty")
    if not exercise.solution_path.is_file():
        found.append(f"{exercise.name}: {stubs.relative(exercise.solution_path)} is missing")
    try:
        cut = stubs.stub(exercise)
    except (OSError, SyntaxError, ValueError) as error:
        return [*found, f"{exercise.name}: {error}"]
    return found + list(_differences(exercise, cut))


def _differences(exercise: Exercise, cut: str) -> Iterator[str]:
    there, name = _text(exercise.stub_path), stubs.relative(exercise.stub_path)
    if there is None:
        yield f"{exercise.name}: {name} is missing: `exercise verify --write` makes it"
    elif there != cut:
        lines = difflib.unified_diff(there.splitlines(), cut.splitlines(), lineterm="", n=0)
        changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))][:FIRST_DIFFERENCES]
        yield f"{exercise.name}: {name} is not what is cut from {exercise.answer}: {' '.join(changed)}"


def run_faults(exercises: Sequence[Exercise], tell: Tell) -> list[str]:
    """Stubs that pass and solutions that fail; the stubs are cut anew, whatever lies in exercises/."""
    jobs = [(exercise, solved) for exercise in exercises for solved in (False, True)]
    stop = threading.Event()

    def goes_on(stage: str) -> None:
        if stop.is_set():
            raise Cancelled

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            return [fault for fault in pool.map(lambda job: _run(*job, Path(folder), tell, goes_on), jobs) if fault]
        except BaseException:  # Ctrl-C: end those that run, and do not begin the others
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


class Cancelled(Exception):
    """Nobody wants to know any more."""


def _run(exercise: Exercise, solved: bool, folder: Path, tell: Tell, watch: Watch) -> str | None:
    path = exercise.solution_path
    if not solved:
        path = folder / exercise.track / f"{exercise.word}.py"
        path.parent.mkdir(exist_ok=True)
        try:
            path.write_text(stubs.stub(exercise), encoding="utf-8")
        except (OSError, SyntaxError, ValueError):
            return None  # static_faults has said so
    elif not path.is_file():
        return None
    result = check(exercise, path, SEED, LIMIT_S, watch, side_by_side=False)  # one for each core is at work already
    what, how = "solution" if solved else "stub", "passes" if result.passed else "fails"
    tell(f"{exercise.name}: {what} {how}, {result.seconds:.1f} s")
    return _judged(exercise, solved, result)


def _judged(exercise: Exercise, solved: bool, result: Result) -> str | None:
    trouble = result.trouble
    if solved and trouble is not None:
        return f"{exercise.name}: its solution fails: {trouble.title}: {' / '.join(trouble.lines[:3])}"
    if not solved and trouble is None:
        return f"{exercise.name}: its stub passes"
    if not solved and trouble is not None and trouble.kind in ("syntax", "import", "names", "crash"):
        return f"{exercise.name}: its stub fails for the wrong reason: {trouble.title}"
    return None


def _text(path: Path) -> str | None:
    try:
        return regular.read(path)
    except (OSError, UnicodeDecodeError):
        return None
