"""A file of a ladder that is broken is named with its line by every command, without a traceback; the others still work."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

import kernels
import workbook.target
from kernels.broken import Broken
from kernels.ladder import load_ladder
from workbook.cli import cli
from workbook.records import files, recording, stale

BREAKAGES = {
    "syntax": ("def run(buffers, stream):", "def run(buffers, stream)", ":%d: SyntaxError: expected ':'"),
    "tokens": ("def run(buffers, stream):", "def run(buffers, stream: '''", ":%d: SyntaxError: "),
    "name": ("def run(buffers, stream):", "SIDE = nobody\ndef run(buffers, stream):", ":%d: NameError: name 'nobody' is not"),
    "import": ("def run(buffers, stream):", "import nobody\ndef run(buffers, stream):", ":%d: ModuleNotFoundError: No module"),
    "docstring": ("Changed:", "Changes:", ": ValueError: frail/fast: the docstring needs"),
}
BY_THE_TEXT = ("syntax", "tokens", "docstring")  # what shows without running the file


@pytest.fixture
def frail(toy, target, tmp_path, monkeypatch):
    """frail(breakage): the toy ladder under the name frail, recorded, and then one step of it broken; the step's file."""
    folder = tmp_path / "kernels" / "frail"
    folder.mkdir(parents=True)
    monkeypatch.setattr(kernels, "__path__", [*kernels.__path__, str(folder.parent)])
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"frail": ("frail",)})
    monkeypatch.setattr(workbook.target, "choose", lambda device: target)
    monkeypatch.setattr(files, "FOLDER", tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("<!-- the ladder: frail -->\n<!-- end of the ladder -->\n")
    source = toy.steps[0].path.parent
    for path in source.glob("*.py"):
        (folder / path.name).write_text(path.read_text().replace("kernels.toy", "kernels.frail"))

    def forget():
        for name in [name for name in sys.modules if name.startswith("kernels.frail")]:
            del sys.modules[name]
        stale._fingerprint.cache_clear()

    def broken(breakage):
        document = recording.document("frail", target, recording.make([load_ladder("frail")], target, prove=False))
        files.update(files.path_of(tmp_path / "records", "h100", "frail"), lambda old: document)
        path = folder / "s20_fast.py"
        before, after, _ = BREAKAGES[breakage]
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))
        forget()
        return path

    yield broken
    forget()


def place(path, breakage):
    """What is said of the file: its path, the line of the damage, what is wrong."""
    _, after, said = BREAKAGES[breakage]
    line = path.read_text().partition(after)[0].count("\n") + 1
    return f"{path}{said % line if '%d' in said else said}"


def ladder(*arguments):
    result = CliRunner().invoke(cli, arguments, prog_name="ladder")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.mark.parametrize("breakage", BY_THE_TEXT)
def test_list_and_show_name_the_file_and_list_still_has_the_others(frail, breakage):
    path = frail(breakage)
    said = ladder("list")
    assert said.exit_code == 1 and place(path, breakage) in said.stdout.replace("\n", " ")
    assert "frail/slow  " in said.stdout and "frail/wide  " in said.stdout
    if breakage != "docstring":
        shown = ladder("show", "frail/fast")
        assert shown.exit_code == 1 and place(path, breakage) in shown.stderr


@pytest.mark.parametrize("breakage", ["syntax", "tokens"])
@pytest.mark.parametrize("command", [["table"], ["table", "--check"], ["record", "--check", "--folder", "records"]])
def test_what_reads_records_takes_the_step_for_stale_and_names_the_file(frail, breakage, command):
    path = frail(breakage)
    said = ladder(*command)
    assert place(path, breakage) in said.output
    if command == ["table"]:
        assert "s20_fast.py) | stale |" in (files.FOLDER.parent / "README.md").read_text()
        assert "s10_slow.py) | 64.0" in (files.FOLDER.parent / "README.md").read_text()


@pytest.mark.parametrize("breakage", ["syntax", "tokens", "name", "import"])
@pytest.mark.parametrize("command", [["climb", "frail", "--no-png"], ["record", "--check", "--folder", "records"]])
def test_what_runs_steps_fails_that_one_and_names_the_line(frail, breakage, command):
    path = frail(breakage)
    said = ladder(*command)
    assert said.exit_code == 1 and "frail/fast" in said.output
    assert path.name in said.output and BREAKAGES[breakage][2].partition(": ")[2].partition(":")[0] in said.output
    assert command[0] == "record" or "\nslow  " in said.output
    assert "frail/slow" not in said.output  # nothing is wrong with it


def test_a_ladder_whose_package_is_broken_is_named(frail):
    package = frail("syntax").parent / "__init__.py"
    package.write_text("LADDER = (\n")
    said = ladder("list")
    assert said.exit_code == 1 and f"broken: {package}:1: SyntaxError: '(' was never closed" in said.stdout
    record = ["record", "--check", "--folder", "records"]
    for command in (["climb", "frail"], ["show", "frail/fast"], ["table", "--check"], record):
        said = ladder(*command)
        assert said.exit_code == 1 and f"{package}:1: SyntaxError" in said.output


def test_a_step_that_fails_through_another_file_names_that_file(frail):
    path = frail("syntax")
    other = path.parent / "s30_wide.py"
    other.write_text("from kernels.frail import s20_fast\n" + other.read_text())
    with pytest.raises(Broken, match=f"^{path}:"):
        load_ladder("frail").step("wide").module  # noqa: B018  the property does the work


def test_an_answer_of_an_exercise_that_is_no_python_is_named(tmp_path, monkeypatch):
    from workbook.exercises import entry

    answer = tmp_path / "answer.py"
    answer.write_text("def kernel(:\n")
    monkeypatch.setattr(entry.Exercise, "answer_path", answer)
    said = ladder("exercise", "list")
    assert f"(cannot be read: {answer}:1: SyntaxError: invalid syntax)" in said.output and "Traceback" not in said.output
