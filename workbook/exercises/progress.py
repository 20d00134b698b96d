"""Which exercises are solved, and how many hints were shown: a small file of the checkout, which git ignores.

A solved exercise is remembered by the fingerprint of its file (kernels/fingerprint.py): comments and layout may change, code
may not. A file that is damaged is put aside, and the reader told; nothing but the ticks is lost. Writes are atomic, and two
processes take turns.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from kernels.fingerprint import code_tokens, fingerprint
from workbook import writing
from workbook.exercises import regular, stubs
from workbook.exercises.entry import PROJECT, Exercise

PLACE = PROJECT / ".exercises.json"
SCHEMA = 1

UNREADABLE = OSError, SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError
"""What reading a file as Python may raise; the last two, where it is nested too deeply."""

Status = Literal["passed", "changed", "begun", "not begun", "missing"]
Tell = Callable[[str], None]


class Progress:
    """The ticks of one checkout. `tell` gets the one line about a damaged file."""

    def __init__(self, place: Path = PLACE, tell: Tell = lambda line: None) -> None:
        self.place, self.tell = place, tell

    def status(self, exercise: Exercise) -> Status:
        """`changed`: it passed, and the code was changed since; `begun`: it differs from the stub."""
        if not exercise.stub_path.is_file():
            return "missing"
        known = self._read()["passed"].get(exercise.name)
        if known is not None:
            return "passed" if known == code_of(exercise.stub_path) else "changed"
        return "not begun" if is_stub(exercise) else "begun"

    def passed(self, exercise: Exercise, fingerprint: str) -> None:
        """Remember that the file of that fingerprint passed."""
        with self._changing() as state:
            state["passed"][exercise.name] = fingerprint

    def forget(self, exercise: Exercise) -> None:
        """As if it had never been begun."""
        with self._changing() as state:
            state["passed"].pop(exercise.name, None)
            state["hints"].pop(exercise.name, None)

    def next_hint(self, exercise: Exercise) -> int:
        """How many hints to show: one more each time, up to all."""
        with self._changing() as state:
            shown = min(state["hints"].get(exercise.name, 0) + 1, len(exercise.hints))
            state["hints"][exercise.name] = shown
        return shown

    def _read(self) -> dict[str, dict]:
        try:
            state = json.loads(regular.read(self.place))
            if _is_sound(state):
                return {"passed": state["passed"], "hints": state["hints"]}
        except FileNotFoundError:
            return {"passed": {}, "hints": {}}
        except (OSError, ValueError, RecursionError):
            pass
        self._put_aside()
        return {"passed": {}, "hints": {}}

    def _put_aside(self) -> None:
        aside = self.place.with_name(f"{self.place.name}.damaged")
        with contextlib.suppress(OSError):
            os.replace(self.place, aside)
            self.tell(f"{self.place.name} was damaged and is now {aside.name}; your files in exercises/ are untouched: "
                      "`exercise check --all` ticks the solved ones again")  # fmt: skip

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, dict]]:
        """The state to change; it is written as a whole, and another process waits for its turn.

        Where nothing can be written, the reader is told so, and the change is lost.
        """
        try:
            lock = open(self.place.with_name(f"{self.place.name}.lock"), "ab+", buffering=0)  # to read as well: no pipe waits
        except OSError as error:
            self._lost(error)
            yield self._read()
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            yield state
            try:
                writing.replace(self.place, json.dumps({"schema": SCHEMA, **state}, indent=1, sort_keys=True) + "\n")
            except OSError as error:
                self._lost(error)

    def _lost(self, error: OSError) -> None:
        self.tell(f"{self.place.name} cannot be written ({error.strerror}): what you solved is not remembered")


def _is_sound(state: object) -> bool:
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        return False
    passed, hints = state.get("passed"), state.get("hints")
    texts = isinstance(passed, dict) and all(isinstance(value, str) for value in passed.values())
    return texts and isinstance(hints, dict) and all(type(value) is int and value >= 0 for value in hints.values())


def code_of(path: Path) -> str | None:
    """The fingerprint of a file; None where it is no Python or cannot be read."""
    try:
        return fingerprint(path) if path.is_file() else None
    except UNREADABLE:
        return None


def is_stub(exercise: Exercise) -> bool:
    """Whether the reader's file is the stub still, but for comments."""
    try:
        return code_tokens(regular.read(exercise.stub_path)) == code_tokens(stubs.stub(exercise))
    except UNREADABLE:
        return False
