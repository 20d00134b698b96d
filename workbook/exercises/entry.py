"""What an exercise is, which there are, and which one a typed name means.

A track is a module of this package, named after it, that holds
    TITLE      one line: what the track is about
    EXERCISES  a tuple of Exercise, in the order in which to solve them
and stands in TRACKS. Loading one imports NumPy and the ladders, never Numba.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from kernels.broken import told
from kernels.case import Case
from kernels.fingerprint import PROJECT
from kernels.ladder import Ladder, UnknownName
from workbook import cases

TRACKS: tuple[str, ...] = ("first", "matmul", "reduction", "quant", "detective")
"""In the order in which to take them."""

FEWEST_HINTS = 2


@dataclass(frozen=True)
class Budget:
    """On `case`, the total of `counter` over one run, divided by that of `per` if there is one, is at most `at_most`.

    counter, per: names of simt.observe.names;   label: what the number is, as in "sectors per load request"
    """

    counter: str
    at_most: float
    case: Case
    label: str
    per: str | None = None


@dataclass(frozen=True)
class Exercise:
    """One file to complete: exercises/<name>.py, cut from `answer` by its markers (workbook/exercises/stubs.py).

    name:    "<track>/<word>"
    answer:  the file with the markers, below the project: "solutions/first/map.py" or "kernels/matmul/s30_tiled.py"
    problem: a Ladder, with or without steps: inputs, reference, tolerance, outputs, kinds, and the cases to check
    hints:   at least two, each giving away more than the one before
    budgets: what a right answer may cost, by exact counters
    checked: the case that the race, init and sync checkers look at; without one, a ragged case of several blocks
    large:   a case too large for a grid of constant size, checked once, when all else is right
    float64: whether double precision is part of the problem; anywhere else it is a mistake
    """

    name: str
    answer: str
    problem: Ladder
    hints: tuple[str, ...]
    budgets: tuple[Budget, ...] = ()
    checked: Case | None = None
    large: Case | None = None
    float64: bool = field(default=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]\w*/[a-z]\w*", self.name):
            raise ValueError(f"{self.name!r} must be <track>/<word>, as in 'first/map'")

    @property
    def track(self) -> str:
        return self.name.partition("/")[0]

    @property
    def word(self) -> str:
        return self.name.partition("/")[2]

    @property
    def stub_path(self) -> Path:
        """The reader's file."""
        return PROJECT / "exercises" / f"{self.name}.py"

    @property
    def solution_path(self) -> Path:
        """The answer with its explanation, or a file that explains it and takes it from a ladder."""
        return PROJECT / "solutions" / f"{self.name}.py"

    @property
    def answer_path(self) -> Path:
        return PROJECT / self.answer

    @property
    def title(self) -> str:
        """The first line of the answer's docstring, which is that of the stub too; what is wrong, where it cannot be read."""
        try:
            docstring = ast.get_docstring(ast.parse(self.answer_path.read_text(encoding="utf-8"), str(self.answer_path))) or ""
        except (OSError, SyntaxError, ValueError) as error:
            return f"(cannot be read: {told(error, self.answer_path)})"
        return docstring.partition("\n")[0]

    @property
    def checked_case(self) -> Case:
        """On which races and unwritten memory are looked for."""
        if self.checked is not None:
            return self.checked
        return self.problem.checked[0] if self.problem.checked else cases.ragged(self.problem.cases)


class BrokenTrack(Exception):
    """A track that cannot be loaded, its own file or a kernel's that it takes: the message names file and line."""


@functools.cache
def _track(track: str) -> ModuleType | BrokenTrack:
    try:
        return importlib.import_module(f"{__package__}.{track}")
    except Exception as error:
        return BrokenTrack(f"the track {track} cannot be loaded: {told(error)}")


def track_title(track: str) -> str:
    """Raises BrokenTrack."""
    return _sound(track).TITLE


def _sound(track: str) -> ModuleType:
    found = _track(track)
    if isinstance(found, BrokenTrack):
        raise found.with_traceback(None)
    return found


def exercises(tracks: Sequence[str] = TRACKS) -> tuple[Exercise, ...]:
    """All exercises of these tracks, in order, but for tracks that are broken."""
    sound = [found for found in map(_track, tracks) if not isinstance(found, BrokenTrack)]
    return tuple(exercise for module in sound for exercise in module.EXERCISES)


def broken(tracks: Sequence[str] = TRACKS) -> list[str]:
    """What is wrong with those that are broken."""
    return [str(found) for found in map(_track, tracks) if isinstance(found, BrokenTrack)]


def find(typed: str) -> Exercise:
    """The exercise of a name such as first/map, of a bare word that one track has, or of its file.

    Raises UnknownName, or BrokenTrack where it may be in one.
    """
    there = exercises()
    if typed.endswith(".py"):
        path = Path(typed).resolve()
        typed = "/".join([path.parent.name, path.stem])
    found = [exercise for exercise in there if typed in (exercise.name, exercise.word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName("single exercise", typed, [exercise.name for exercise in found])
    for track in TRACKS:
        if "/" not in typed or typed.startswith(f"{track}/"):
            _sound(track)
    raise UnknownName("exercise", typed, [exercise.name for exercise in there])
