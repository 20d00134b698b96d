"""What is broken outside the reader's file: one line with file and line number, and the rest still works."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.workbook.exercises.test_exercise_cli import ROOT, files, ladder  # noqa: F401 a fixture
from workbook.cli import cli
from workbook.exercises import entry, stubs

FOLDERS = ("kernels", "simt", "workbook", "exercises", "solutions")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's files, to break."""
    place = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for exercise in entry.exercises():
        (place / "exercises" / f"{exercise.name}.py").write_text(stubs.stub(exercise), encoding="utf-8")
    return place


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbook", "exercise", *arguments]
    surroundings = os.environ | {"PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, env=surroundings, capture_output=True, text=True, timeout=200, check=False)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


BROKEN = {
    "a step that is no Python": ("kernels/matmul/s10_naive.py", "def (\n", "kernels/matmul/s10_naive.py:1", "matmul/naive"),
    "a step that raises": ("kernels/reduction/__init__.py", "1 / 0\n", "kernels/reduction/__init__.py:1", "reduction/argmax"),
    "an entry that is no Python": ("workbook/exercises/matmul.py", "x = (\n", "workbook/exercises/matmul.py:1", "matmul/tiled"),
    "entries that raise": ("workbook/exercises/quant.py", "\nnowhere\n", "workbook/exercises/quant.py:2", "quant/int8_naive"),
}


@pytest.mark.many
@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_named_with_its_line_and_other_tracks_go_on(copy: Path, what: str) -> None:
    path, text, place, name = BROKEN[what]
    before = (copy / path).read_text()
    (copy / path).write_text(text)
    try:
        listed = run(copy, "list")
        assert listed.returncode == 0 and place in listed.stdout + listed.stderr
        assert "] map " in listed.stdout and "] picture " in listed.stdout
        assert "edit " in run(copy).stdout
        told = run(copy, "check", name)
        known = place if "cannot be loaded" in listed.stderr else "never written"
        assert told.returncode == 1 and known in told.stdout + told.stderr, told
        faulty = run(copy, "verify", "--track", name.partition("/")[0], "--write")
        assert faulty.returncode == 1 and place in faulty.stdout + faulty.stderr, faulty
        assert place in (reset := run(copy, "reset", name, "--yes")).stdout + reset.stderr and reset.returncode == 1
    finally:
        (copy / path).write_text(before)
    assert "check first/map" in run(copy).stdout


def test_a_broken_check_says_so_itself(copy: Path) -> None:
    path = copy / "workbook" / "exercises" / "examine.py"
    before = path.read_text()
    path.write_text("def (\n")
    try:
        told = run(copy, "check", "first/map")
    finally:
        path.write_text(before)
    assert told.returncode == 1
    assert re.search(r"the check itself is broken: workbook/exercises/examine.py:1: SyntaxError", told.stdout), told


@pytest.mark.parametrize("there", ["a folder", "a link to nothing", "a read-only file"])
def test_reset_puts_aside_whatever_is_there(files: Path, there: str) -> None:  # noqa: F811 the fixture
    path = entry.find("first/map").stub_path
    path.unlink()
    if there == "a folder":
        path.mkdir()
        (path / "mine").write_text("text")
    elif there == "a link to nothing":
        path.symlink_to("nowhere")
    else:
        path.write_text("mine = 1\n")
        path.chmod(0o400)
    done = ladder("reset", "first/map", "--yes")
    assert done.exit_code == 0, done.output
    assert path.read_text() == stubs.stub(entry.find("first/map")) and not path.is_symlink()
    assert os.path.lexists(path.with_name("map.py.bak"))
    assert ladder("reset", "first/map", "--yes").exit_code == 0


def test_a_folder_that_cannot_be_written_is_told(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811 the fixture
    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("workbook.writing.replace", refuse)
    done = CliRunner().invoke(cli, ["exercise", "reset", "first/map", "--yes"])
    assert done.exit_code == 1 and "map.py cannot be written: Permission denied" in done.output


@pytest.mark.many
@pytest.mark.parametrize("command", [("check", "tiled", "--file", "solutions/matmul/tiled.py"), ("verify", "--track", "first")])
@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.8, 1.5, 3.0])
def test_ctrl_c_ends_it_with_one_line_and_leaves_nothing_running(after_s: float, command: tuple[str, ...]) -> None:
    """As in a terminal, where all processes of the group get the signal; they are found by a mark in their environment."""
    mark = f"CTRL_C_{time.monotonic_ns()}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    words = [sys.executable, "-m", "workbook", "exercise", *command]
    process = subprocess.Popen(words, cwd=ROOT, env=os.environ | {mark: "1"}, **pipes)
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    if after_s >= 0.4:
        assert process.returncode == 130 and said.count("interrupted") == 1, said
        assert "Traceback" not in said and "Error" not in said, said
    end = time.monotonic() + 30
    while left := _marked(mark):
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.1)


def _marked(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found
