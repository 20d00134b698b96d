"""Checks one file against an exercise, in a process of its own: it may crash, hang or print what it likes.

The processes are forked from one that has everything imported (warm.py), so that the second check of a session begins at once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbook.exercises import request
from workbook.exercises.entry import Exercise
from workbook.exercises.explain import located
from workbook.exercises.progress import Progress, code_of
from workbook.exercises.result import Result, Trouble
from workbook.exercises.stubs import relative

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SILENT_S = 60.0  # of a stage; compiling the largest kernel takes a few seconds
GRACE_S = 5.0  # for the process to say where it hangs, before it is killed

Watch = Callable[[str], None]


def check(
    exercise: Exercise,
    path: Path | None = None,
    seed: int | None = None,
    limit_s: float = SILENT_S,
    watch: Watch = lambda stage: None,
) -> Result:
    """Check `path`, the reader's file without one. `watch` hears each stage; one longer than `limit_s` is a hang."""
    path = (path or exercise.stub_path).resolve()
    seed = secrets.randbits(32) if seed is None else seed
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        asked = request.Request(exercise.name, str(path), seed, limit_s, folder)
        answer = _answer(asked, watch)
        printed = _read(asked.printed)
    found: dict[str, Any] = {"trouble": answer} if isinstance(answer, Trouble) else answer
    seconds = time.monotonic() - began
    return Result(exercise.name, relative(path), seed, printed=tuple(printed), seconds=seconds, **found)


def check_own(progress: Progress, exercise: Exercise, seed: int | None = None, watch: Watch = lambda stage: None) -> Result:
    """Check the reader's file, and remember a pass. The code is read before: a save in the meantime is not the one checked."""
    before = code_of(exercise.stub_path)
    result = check(exercise, None, seed, watch=watch)
    if result.passed and before is not None:
        progress.passed(exercise, before)
    return result


def _answer(asked: request.Request, watch: Watch) -> Trouble | dict[str, Any]:
    """What the process sends, or how it ended without."""
    stage = "starting"
    with _running(asked) as (process, pipe):
        while pipe.poll(asked.limit_s + GRACE_S):
            try:
                word, value = pipe.recv()
            except EOFError:
                process.join(GRACE_S)
                return _ended(asked, process.exitcode, stage)
            if word == "result":
                return value
            stage = value
            watch(stage)
    return _hang(asked, stage)


@contextlib.contextmanager
def _running(asked: request.Request) -> Iterator[tuple[Any, Connection]]:
    """The process and the end of its pipe; it is gone afterwards, whatever happens."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["workbook.exercises.warm"])
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=request.serve, args=(asked, theirs), daemon=True)
    with mine:
        with _clean_environment():
            process.start()
        theirs.close()
        try:
            yield process, mine
        finally:
            process.kill()
            process.join()


@contextlib.contextmanager
def _clean_environment() -> Iterator[None]:
    """The first check starts the process that all are forked from: it must not inherit a schedule or a mode."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name in request.NOT_INHERITED}
    try:
        yield
    finally:
        os.environ.update(kept)


def _ended(asked: request.Request, code: int | None, stage: str) -> Trouble:
    where = _where(asked)
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return Trouble("crash", f"the process died of {name} while {stage}", where, _number(where))
    if _read(asked.stuck):
        return _hang(asked, stage)
    return Trouble("crash", f"the process ended with exit code {code} while {stage}", ("something in the file ended it",))


def _hang(asked: request.Request, stage: str) -> Trouble:
    where = _where(asked)
    lines = where or ("no line of the file was running: a kernel, or the compiler, did not come back",)
    return Trouble("hang", f"nothing happened for {asked.limit_s:.0f} s while {stage}", lines, _number(where))


def _where(asked: request.Request) -> tuple[str, ...]:
    """The reader's line in what the process wrote as it hung or crashed."""
    text = "\n".join(_read(asked.stuck, 1 << 16))
    found = re.search(rf'File "{re.escape(asked.path)}", line (\d+)', text)
    if not found:
        return ()
    return (located(Path(asked.path), int(found[1])),)


def _number(where: tuple[str, ...]) -> int | None:
    found = re.match(r"at .*?:(\d+):", where[0]) if where else None
    return int(found[1]) if found else None


def _read(path: str, most: int = 4096) -> list[str]:
    """The last lines of a file that may not be there."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.path.getsize(path) - most, 0))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
