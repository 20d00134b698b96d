"""`ladder exercise` as a reader uses it, on files and ticks in a folder of the test."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from workbook.cli import cli
from workbook.exercises import entry, progress, stubs, upkeep

ROOT = Path(__file__).parents[3]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the reader's files, filled with all stubs."""
    place = property(lambda self: tmp_path / "exercises" / f"{self.name}.py")
    monkeypatch.setattr(entry.Exercise, "stub_path", place)
    monkeypatch.setattr(progress.Progress.__init__, "__defaults__", (tmp_path / "ticks.json", lambda line: None))
    upkeep.write_stubs(entry.exercises())
    return tmp_path / "exercises"


def ladder(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(cli, ["exercise", *arguments], input=answer)


def solve(name: str) -> Path:
    found = entry.find(name)
    shutil.copy(found.answer_path, found.stub_path)
    return found.stub_path


def test_without_a_terminal_it_prints_the_next_one_and_ends(files: Path) -> None:
    done = ladder()
    first = entry.exercises()[0]
    assert done.exit_code == 0
    assert first.name in done.output and first.title in done.output and f"exercise check {first.name}" in done.output


def test_the_list_is_one_json_document(files: Path) -> None:
    rows = json.loads(ladder("list", "--json").output)
    assert [row["name"] for row in rows] == [each.name for each in entry.exercises()]
    assert {row["status"] for row in rows} == {"not begun"}


def test_a_solved_exercise_is_ticked_and_a_changed_one_no_more(files: Path) -> None:
    path = solve("matmul/naive")
    done = ladder("check", "naive")
    assert done.exit_code == 0, done.output
    assert "passed" in done.output
    assert re.search(r"\[x\] naive", ladder("list").output)
    path.write_text(path.read_text() + "more = 1\n")
    listed = ladder("list").output
    assert re.search(r"\[~\] naive", listed) and listed.endswith("\n[~] changed since it passed\n")


def test_check_says_what_is_wrong_with_exit_code_1(files: Path) -> None:
    done = ladder("check", "matmul/naive")
    assert done.exit_code == 1
    assert "never written" in done.output and "--seed" in done.output


def test_check_all_leaves_out_what_was_not_begun(files: Path) -> None:
    assert "no exercise was begun" in ladder("check", "--all").output
    entry.find("matmul/naive").stub_path.write_text("def (")
    documents = json.loads(ladder("check", "--all", "--json").output)
    assert [(each["exercise"], each["trouble"]["kind"]) for each in documents] == [("matmul/naive", "syntax")]


def test_an_unknown_name_is_a_usage_error_with_the_nearest(files: Path) -> None:
    done = ladder("check", "matmul/tild")
    assert done.exit_code == 2
    assert "did you mean 'matmul/tiled'" in done.output


def test_hints_come_one_at_a_time(files: Path) -> None:
    assert ladder("hint", "tiled").output.count("of 3:") == 1
    assert ladder("hint", "tiled").output.count("of 3:") == 2


def test_reset_asks_and_keeps_what_was_there(files: Path) -> None:
    path = solve("matmul/naive")
    mine = path.read_text()
    assert ladder("reset", "naive", answer="n\n").exit_code == 1
    assert path.read_text() == mine
    assert ladder("reset", "naive", answer="y\n").exit_code == 0
    assert path.read_text() == stubs.stub(entry.find("matmul/naive"))
    path.write_text("x = 1\n")
    assert ladder("reset", "naive", "--yes").exit_code == 0
    kept = [aside.read_text() for aside in sorted(path.parent.glob("naive.py.bak*"))]
    assert kept == [mine, "x = 1\n"]


def test_the_solution_is_shown_after_passing_or_by_force(files: Path) -> None:
    refused = ladder("solution", "tiled")
    assert refused.exit_code == 1 and "--force" in refused.output
    shown = ladder("solution", "tiled", "--force").output
    assert "solutions/matmul/tiled.py" in shown and "cuda.syncthreads()" in shown


def test_verify_finds_a_stub_that_differs_and_a_missing_solution(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "run_faults", lambda exercises, tell: [])
    entry.find("matmul/naive").stub_path.write_text("x = 1\n")
    monkeypatch.setattr(entry.Exercise, "solution_path", property(lambda self: files / "nowhere.py"))
    done = ladder("verify", "--track", "matmul")
    assert done.exit_code == 1
    assert "naive.py is not what is cut from kernels/matmul/s10_naive.py" in done.output
    assert "nowhere.py is missing" in done.output


def test_a_stub_that_passes_and_a_solution_that_fails_are_faults(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    naive = entry.find("matmul/naive")
    wrong = files / "wrong.py"
    wrong.write_text("def run(buffers, stream):\n    pass\n")
    monkeypatch.setattr(stubs, "stub", lambda exercise: exercise.answer_path.read_text())
    monkeypatch.setattr(entry.Exercise, "solution_path", property(lambda self: wrong))
    faults = upkeep.run_faults([naive], lambda line: None)
    assert faults[0] == "matmul/naive: its stub passes"
    assert faults[1].startswith("matmul/naive: its solution fails: run launched no kernel")


def test_on_a_terminal_it_checks_on_each_save_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    """The real command, in a copy of the checkout's files that it needs."""
    for folder in ("kernels", "simt", "workbook", "exercises", "solutions"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    first = entry.exercises()[0]
    path = tmp_path / "exercises" / f"{first.name}.py"
    path.write_text(stubs.stub(first))
    mine, theirs = pty.openpty()
    terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-m", "workbook", "exercise"], cwd=tmp_path, env=surroundings, **terminal)
    screen = Screen(mine)
    try:
        screen.expect(f"edit .*{first.word}.py")
        path.write_text("def (\n")
        screen.expect("no valid Python")
        path.write_text((ROOT / first.answer).read_text())
        screen.expect(f"{first.name}: passed")
        screen.expect(f"edit .*{entry.exercises()[1].word}.py")
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of the group
        assert process.wait(30) == 130
        assert "Traceback" not in screen.expect("interrupted")
    finally:
        process.kill()
        process.wait()
        os.close(mine)
        os.close(theirs)


class Screen:
    """What the other end of a terminal shows; what came after a match waits for the next one."""

    def __init__(self, terminal: int) -> None:
        self.terminal, self.seen = terminal, ""

    def expect(self, pattern: str, limit_s: float = 120) -> str:
        """Read until the pattern appears; what stood before and in it."""
        end = time.monotonic() + limit_s
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.terminal], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{pattern!r} did not appear in: {self.seen}"
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

