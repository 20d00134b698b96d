"""`pytest exercises/`: a test for each exercise that was begun, the same as `ladder exercise check`."""

from __future__ import annotations

import pytest

from workbook.exercises import entry
from workbook.exercises.check import check_own
from workbook.exercises.progress import Progress
from workbook.exercises.result import screen


@pytest.mark.parametrize("exercise", entry.exercises(), ids=lambda exercise: exercise.name)
def test_exercise(exercise: entry.Exercise, seed: int) -> None:
    progress = Progress(tell=print)
    if progress.status(exercise) in ("not begun", "missing"):
        pytest.skip("not begun")
    result = check_own(progress, exercise, seed)
    if not result.passed:
        pytest.fail("\n".join(screen(result)), pytrace=False)
