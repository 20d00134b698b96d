"""Checks one file against an exercise, in processes of their own: it may crash, hang or print what it likes."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from pathlib import Path

from workbook.exercises import explain, printed, processes, regular
from workbook.exercises.entry import Exercise
from workbook.exercises.processes import Watch
from workbook.exercises.progress import Progress, code_of
from workbook.exercises.request import PARTS, Request
from workbook.exercises.result import Result
from workbook.exercises.stubs import relative

SILENT_S = 60.0  # of a stage; compiling the largest kernel takes a few seconds


def check(
    exercise: Exercise,
    path: Path | None = None,
    seed: int | None = None,
    limit_s: float = SILENT_S,
    watch: Watch = lambda stage: None,
    side_by_side: bool = True,
) -> Result:
    """Check `path`, the reader's file without one. `watch` hears each stage; one longer than `limit_s` is a hang.

    side_by_side: whether two processes do it, where there are two cores: sooner, with a little more work
    """
    path = path or exercise.stub_path
    seed = secrets.randbits(32) if seed is None else seed
    began = time.monotonic()
    try:
        source = regular.read(path)
    except OSError as error:
        return Result(exercise.name, relative(path), seed, explain.closed(path, error))
    except UnicodeDecodeError:
        source = ""  # what is wrong with it, the import tells
    path = path.resolve()
    explain.remember(path, source)
    apart = side_by_side and len(os.sched_getaffinity(0)) > 1
    with tempfile.TemporaryDirectory(prefix="exercise-", ignore_cleanup_errors=True) as folder:
        parts = [(part,) for part in PARTS] if apart else [PARTS]
        word = secrets.token_hex(8)
        asked = [Request(exercise.name, str(path), seed, limit_s, folder, word, part) for part in parts]
        found = processes.answers(asked, watch)
        told = asked[len(found) - 1 if found[-1].trouble else 0]  # each prints the same, on other cases
        said, before = printed.end_of(told.printed)
    return Result(
        exercise.name,
        relative(path),
        seed,
        trouble=found[-1].trouble,
        spent=tuple(spent for one in found for spent in one.spent),
        cases=found[0].cases,
        printed=said,
        printed_before=before,
        seconds=time.monotonic() - began,
    )


def check_own(progress: Progress, exercise: Exercise, seed: int | None = None, watch: Watch = lambda stage: None) -> Result:
    """Check the reader's file, and remember a pass. The code is read before: a save in the meantime is not the one checked."""
    before = code_of(exercise.stub_path)
    result = check(exercise, None, seed, watch=watch)
    if result.passed and before is not None:
        progress.passed(exercise, before)
    return result
