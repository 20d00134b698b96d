"""The doctor as a whole: what it prints, its exit code, and that nothing that is broken stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from workbook import doctor
from workbook.cli import cli
from workbook.cli.doctor import lines
from workbook.cli.test import ROOT
from workbook.doctor import finding


def run_ladder(*arguments, before=(), here=ROOT, **variables):
    """`ladder` as a process of its own; `before`: folders that come before ours on PYTHONPATH."""
    path = os.pathsep.join([*map(str, before), str(ROOT)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIMT")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "workbook", *arguments],
        cwd=here,
        env={**kept, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_a_real_run_compiles_and_runs_a_kernel_and_reports_every_check(tmp_path):
    done = run_ladder("doctor", "--json", here=tmp_path, SIMT="force")
    document = json.loads(done.stdout)
    assert document["schema"] == 1 and done.stderr == ""
    assert list(dict.fromkeys(each["check"] for each in document["checks"])) == list(doctor.CHECKS)
    by_name = {each["check"]: each for each in document["checks"]}
    assert [each for each in document["checks"] if each["status"] == "failed"] == []
    assert by_name["self-test"]["status"] == "ok" and by_name["self-test"]["facts"]["backend"] == "emulated"
    assert by_name["numba.cuda"]["facts"]["provider"] == "numba-cuda"
    assert by_name["compiler"]["facts"]["emits_ptx"].count(".") == 1
    assert by_name["backend"]["facts"] == {"backend": "emulated", "device": "h100", "reason": "SIMT=force"}
    assert done.returncode == (0 if document["well"] else 1)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A numba that cannot be imported, and an unrelated package named kernels."""
    folder = tmp_path_factory.mktemp("broken")
    for name, body in {"numba": "raise ImportError('half of it is missing')", "kernels": ""}.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(body)
    return folder


def test_it_works_where_numba_and_kernels_do_not(broken, tmp_path):
    done = run_ladder("doctor", before=[broken], here=tmp_path, SIMT="force")
    assert done.returncode == 1 and done.stderr == ""
    assert "Traceback" not in done.stdout and "\x1b" not in done.stdout
    said = " ".join(done.stdout.split())
    assert f"kernels is {broken}/kernels/__init__.py, an unrelated package, not ours" in said
    assert "numba.cuda could not be imported: ImportError: half of it is missing" in said
    assert "self-test PROBLEM failed: ImportError: half of it is missing" in said
    assert done.stdout.splitlines()[-1] == "to fix: imports, shadowing, numba.cuda, self-test"


def test_another_command_then_points_to_the_doctor(broken):
    done = run_ladder("list", before=[broken])
    assert done.returncode == 1 and done.stdout == "" and "Traceback" not in done.stderr
    assert "No module named 'kernels." in done.stderr and "doctor says what to do" in done.stderr


@pytest.fixture
def ladder_doctor(machine, monkeypatch):
    """`ladder doctor` on a made-up machine, with these checks."""

    def run(checks, *arguments):
        monkeypatch.setattr("workbook.doctor.machine.Machine", machine)
        original = doctor.examine
        monkeypatch.setattr(doctor, "examine", lambda made: original(made, checks))
        return CliRunner().invoke(cli, ["doctor", *arguments])

    return run


def good(_):
    yield finding.ok("as it should be", number=3)


def bad(_):
    yield finding.note("worth knowing")
    yield finding.problem("it is broken", "mend it")


def failing(_):
    yield finding.ok("half of it")
    raise OSError("no such\nthing")


def test_where_all_is_well_it_says_so_and_exits_0(ladder_doctor):
    result = ladder_doctor({"good": good})
    assert result.exit_code == 0
    assert result.stdout == "good        ok       as it should be\nall is well\n"


def test_a_problem_comes_with_what_to_do_and_exits_1(ladder_doctor):
    result = ladder_doctor({"good": good, "bad": bad})
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:] == [
        "bad         note     worth knowing",
        "bad         PROBLEM  it is broken",
        "            do: mend it",
        "to fix: bad",
    ]


def test_a_note_alone_exits_0(ladder_doctor):
    assert ladder_doctor({"notes": lambda _: iter([finding.note("worth knowing")])}).exit_code == 0


def test_a_check_that_breaks_says_so_and_the_others_go_on(ladder_doctor):
    result = ladder_doctor({"failing": failing, "good": good})
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert "failing     FAILED   this check itself failed: OSError: no such thing" in result.stdout
    assert "good        ok" in result.stdout and result.stdout.endswith("to fix: failing\n")


def test_json_is_one_document_with_a_schema_number(ladder_doctor):
    result = ladder_doctor({"good": good, "bad": bad}, "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["schema"] == 1 and document["well"] is False
    assert document["checks"][0] == {
        "check": "good", "status": "ok", "text": "as it should be", "advice": "", "facts": {"number": 3},
    }  # fmt: skip
    assert [each["status"] for each in document["checks"]] == ["ok", "note", "problem"]


def test_long_findings_are_wrapped_to_80_columns_and_paths_stay_whole():
    path = "/opt/" + "x" * 90
    shown = list(map(click.unstyle, lines("variables", finding.problem("many words " * 20 + path, "x" * 100))))
    assert [line for line in shown if len(line) > 80] == [" " * 21 + path, "            do: " + "x" * 100]


def test_on_a_well_machine_no_check_finds_a_problem(machine):
    made = machine()
    about_this_machine = {"disk", "packages", "cache"}
    checks = {name: check for name, check in doctor.CHECKS.items() if name not in about_this_machine}
    assert [(name, each.text) for name, each in doctor.examine(made, checks) if each.status != "ok"] == []
