"""Files that have no end, that Python cannot compile, that say too much, or that raise what nobody expects."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workbook.exercises.test_check import line_of, text
from tests.workbook.exercises.test_exercise_cli import files, ladder  # noqa: F401 a fixture
from tests.workbook.exercises.test_fairness import MAP, at_the_end_of_run, map_checked
from workbook.exercises import entry, printed, progress, upkeep
from workbook.exercises.result import Result, Trouble, screen

Checked = Callable[..., Result]
IRREGULAR = {
    "a pipe": os.mkfifo,
    "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a loop": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("what", IRREGULAR)
def test_what_is_no_regular_file_is_told_in_one_line_at_once(files: Path, what: str) -> None:  # noqa: F811 the fixture
    exercise, began = entry.find("first/map"), time.monotonic()
    exercise.stub_path.unlink()
    IRREGULAR[what](exercise.stub_path)
    assert progress.code_of(exercise.stub_path) is None and not progress.is_stub(exercise)
    done = ladder("check", "first/map")
    reason = "Too many levels of symbolic links" if what == "a loop" else "it is no regular file"
    assert done.exit_code == 1 and f"map.py cannot be read: {reason}" in done.output, done.output
    assert ladder("list").exit_code == 0
    assert upkeep.static_faults(exercise)
    assert upkeep.write_stubs([exercise]) == [exercise.stub_path] and exercise.stub_path.is_file()
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("name", ["ticks.json", "ticks.json.lock"])
def test_ticks_that_are_a_pipe_do_not_stop_anything(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    said: list[str] = []
    ticks = progress.Progress(tmp_path / "ticks.json", said.append)
    assert ticks.next_hint(entry.find("first/map")) == 1
    assert len(said) == (name == "ticks.json")


DEEP = {
    "signs": f"x = {'-' * 100_000}1",
    "a sum": f"x = {'+'.join('1' * 100_000)}",
    "indices": f"x = a{'[0]' * 100_000}",
    "calls": f"x = a{'()' * 100_000}",
}


@pytest.mark.parametrize("what", DEEP)
def test_a_line_that_is_nested_too_deeply_is_named(checked: Checked, what: str) -> None:
    source = f"{MAP}\ny = (1,\n  2)\n{DEEP[what]}\nz = 3\n"
    result = map_checked(checked, source)
    assert result.trouble is not None and "nested too deeply" in result.trouble.title, text(result)
    assert result.trouble.line == line_of(source, "x = ")


MUTE = "class E(Exception):\n    def __str__(self):\n        return {}\n\n"
RAISED = {
    "a message of 10 MB": ("", "raise ValueError('y' * 10_000_000)", "ValueError while"),
    "a message of many lines": ("", "raise ValueError('y\\n' * 1_000_000)", "ValueError while"),
    "no message": (MUTE.format("1 / 0"), "raise E()", "__str__ raises ZeroDivisionError"),
    "a message that is none": (MUTE.format("3"), "raise E()", "__str__ raises TypeError"),
    "notes that are none": ("class E(Exception): __notes__ = [3]\n\n", "raise E()", "E while"),
    "no notes": ("class E(Exception): __notes__ = 3\n\n", "raise E()", "E while"),
    "a note of 10 MB": ("class E(Exception): __notes__ = ['y' * 10_000_000]\n\n", "raise E()", "more characters"),
    "no Exception": ("class E(BaseException): pass\n\n", "raise E('gone')", r"E(gone)"),
}


@pytest.mark.parametrize("where", ["import", "run"])
@pytest.mark.parametrize("what", RAISED)
def test_whatever_a_file_raises_its_line_is_named(checked: Checked, what: str, where: str) -> None:
    head, raised, says = RAISED[what]
    source = f"{head}{MAP}\n{raised}\n" if where == "import" else at_the_end_of_run(raised, head)
    result = map_checked(checked, source)
    assert result.trouble is not None and result.trouble.kind == "error", text(result)[:3000]
    assert says in text(result) and result.trouble.line == line_of(source, raised)
    assert len(text(result)) < 5000


def test_a_long_line_that_is_no_python_is_told_with_its_beginning(checked: Checked) -> None:
    result = map_checked(checked, f"{MAP}\nx = '{'y' * 3_000_000}' y\n")
    assert result.trouble is not None and result.trouble.kind == "syntax" and len(text(result)) < 5000


def test_control_characters_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "printed").write_bytes(b"\x1b]0;owned\x07\tand\rover\r\nlast \xe2\x80\xae\xc3\xa9\n")
    said, _ = printed.end_of(tmp_path / "printed")
    shown = screen(Result("first/map", "map.py", 1, Trouble("error", "\x1b[2Jtitle", ("a \ud800 line",)), printed=said))
    assert shown == [
        r"first/map: \x1b[2Jtitle",
        r"  a \ud800 line",
        "  the file printed:",
        "    \\x1b]0;owned\\x07\tand\\rover",
        "    last \\u202eé",
    ]


SAVED_MEANWHILE = "with open(__file__, 'w') as file:\n    file.write('another = 1\\n' * 40)\n\n"


@pytest.mark.parametrize("line", ["while stream == 0: pass", "import ctypes; ctypes.string_at(0)", "1 / 0", "out[0].x"])
def test_a_save_during_a_check_changes_no_line_that_is_told(checked: Checked, line: str) -> None:
    """As soon as the file is imported, it is another one."""
    source = at_the_end_of_run(line, SAVED_MEANWHILE)
    assert f":{line_of(source, line)}: {line}" in text(map_checked(checked, source, limit_s=2))


def test_in_a_kernel_too(checked: Checked) -> None:
    source = SAVED_MEANWHILE + MAP.replace("2 * a[i]", "2 * a[i + 1]")
    assert f":{line_of(source, 'a[i + 1]')}: out[i] = 2 * a[i + 1]" in text(map_checked(checked, source))
