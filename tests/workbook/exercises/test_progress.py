"""Ticks survive comments, damage and two writers; they do not survive a change of the code."""

from __future__ import annotations

import dataclasses
import multiprocessing
from pathlib import Path

import pytest

from workbook.exercises import entry, progress
from workbook.exercises.progress import Progress, code_of


@pytest.fixture
def exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> entry.Exercise:
    """matmul/naive with its file in a folder of the test."""
    path = tmp_path / "naive.py"
    monkeypatch.setattr(entry.Exercise, "stub_path", property(lambda self: path))
    found = entry.find("matmul/naive")
    path.write_text(progress.stubs.stub(found))
    return found


@pytest.fixture
def ticks(tmp_path: Path) -> Progress:
    return Progress(tmp_path / "progress.json")


def test_a_stub_is_not_begun_and_a_missing_file_is_missing(exercise: entry.Exercise, ticks: Progress) -> None:
    assert ticks.status(exercise) == "not begun"
    exercise.stub_path.unlink()
    assert ticks.status(exercise) == "missing"


def test_a_pass_survives_comments_and_not_code(exercise: entry.Exercise, ticks: Progress) -> None:
    ticks.passed(exercise, code_of(exercise.stub_path))
    exercise.stub_path.write_text(exercise.stub_path.read_text() + "# done\n")
    assert ticks.status(exercise) == "passed"
    exercise.stub_path.write_text(exercise.stub_path.read_text() + "x = 1\n")
    assert ticks.status(exercise) == "changed"


def test_a_file_that_is_no_python_is_begun(exercise: entry.Exercise, ticks: Progress) -> None:
    exercise.stub_path.write_text("def (\n")
    assert ticks.status(exercise) == "begun"


def test_each_hint_comes_one_later_and_none_twice(exercise: entry.Exercise, ticks: Progress) -> None:
    assert [ticks.next_hint(exercise) for _ in range(5)] == [1, 2, 3, 3, 3]


DAMAGED = ["", "{", "[]", '{"schema": 9}', '{"schema": 1, "passed": {"a": 3}, "hints": {}}',
           '{"schema": 1, "passed": {}, "hints": {"matmul/naive": -5}}', "\x00\xff"]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_put_aside_with_one_line(exercise: entry.Exercise, tmp_path: Path, content: str) -> None:
    place, said = tmp_path / "progress.json", []
    place.write_bytes(content.encode("latin-1"))
    ticks = Progress(place, said.append)
    assert ticks.status(exercise) == "not begun"
    ticks.next_hint(exercise)
    assert len(said) == 1 and "damaged" in said[0]
    assert (tmp_path / "progress.json.damaged").read_bytes() == content.encode("latin-1")


def _pass_some(place: Path, word: str) -> None:
    found = entry.find("matmul/naive")
    for number in range(20):
        Progress(place).passed(dataclasses.replace(found, name=f"matmul/{word}{number}"), "0" * 12)


def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    place, context = tmp_path / "progress.json", multiprocessing.get_context("spawn")
    writers = [context.Process(target=_pass_some, args=(place, word)) for word in ("x", "y")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(Progress(place)._read()["passed"]) == 40
    assert {path.name for path in tmp_path.iterdir()} == {"progress.json", "progress.json.lock"}


def test_where_nothing_can_be_written_the_reader_is_told_and_the_check_goes_on(tmp_path, exercise):
    (tmp_path / "progress.json.lock").mkdir()
    said = []
    ticks = Progress(tmp_path / "progress.json", said.append)
    ticks.passed(exercise, "0" * 12)
    assert ticks.next_hint(exercise) == 1
    assert said == ["progress.json cannot be written (Is a directory): what you solved is not remembered"] * 2
    (tmp_path / "progress.json.lock").rmdir()
    (tmp_path / "progress.json").mkdir()
    said.clear()
    ticks.passed(exercise, "0" * 12)
    assert any("cannot be written" in line or "was damaged" in line for line in said)
    assert list(tmp_path.glob("progress.json.?*[!k]")) in ([], [tmp_path / "progress.json.damaged"])


def test_a_file_of_a_hundred_thousand_brackets_is_put_aside(tmp_path, exercise):
    (tmp_path / "progress.json").write_text("[" * 200_000)
    assert Progress(tmp_path / "progress.json").next_hint(exercise) == 1
