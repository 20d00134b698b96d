"""`ladder record` as a person types it: what it writes, what it refuses, and what --check says."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import workbook.target
from workbook.cli import cli


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "records"


@pytest.fixture
def ladder(toy, target, monkeypatch, folder):
    """Runs `ladder record` in an empty folder, on the toy ladder and the target without a device."""
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"toy": ("toy",)})
    monkeypatch.setattr(workbook.target, "choose", lambda device: target)
    monkeypatch.chdir(folder.parent)

    def run(*arguments):
        return CliRunner().invoke(cli, ["record", *arguments, "--folder", str(folder)], prog_name="ladder")

    return run


@pytest.fixture
def slower_fast(replace_run):
    """Lets the second step take longer, with more sectors."""

    def run(buffers, stream):
        buffers["c"][...] = buffers["a"] @ buffers["b"]
        stream.append({"time_ns": 5000.0, "sectors": 900, "registers": 32})

    return lambda: replace_run("fast", run)


def record(ladder):
    result = ladder("toy", "--device", "h100")
    assert result.exit_code == 0, result.output
    return result


def test_a_record_is_written_and_said(ladder, folder):
    assert record(ladder).stdout == "records/h100/toy.json: 3 runs, modelled\n"
    document = json.loads((folder / "h100" / "toy.json").read_text())
    assert [run["step"] for run in document["runs"]] == ["toy/slow", "toy/fast", "toy/wide"]


def test_what_was_recorded_holds(ladder):
    record(ladder)
    result = ladder("--check", "--device", "h100")
    assert (result.exit_code, result.stdout) == (0, "toy on h100: 3 runs hold\n")
    assert ladder("--check").stdout == "toy on h100: 3 runs hold\n"


def test_a_slower_step_fails_the_check_with_the_counter_that_moved(ladder, folder, slower_fast):
    record(ladder)
    before = (folder / "h100" / "toy.json").read_bytes()
    slower_fast()
    result = ladder("toy", "--check")
    assert result.exit_code == 1
    assert "toy/fast on h100 at m=64 n=64 k=64: SLOWER by 25.0 %, 4.00 µs -> 5.00 µs" in result.stdout
    assert "(global load sectors): 400 -> 900, x2.25" in result.stdout
    assert "toy/slow" not in result.stdout
    assert (folder / "h100" / "toy.json").read_bytes() == before


def test_a_wrong_step_fails_the_check_too_where_it_does_not_run(ladder, replace_run):
    record(ladder)

    def run(buffers, stream):
        raise TypeError("no match")

    replace_run("fast", run)
    result = ladder("--check")
    assert result.exit_code == 1
    assert "toy/fast on h100 at m=64 n=64 k=64: recorded, but not counted now" in result.stdout
    assert "no match" in result.stderr and "Traceback" not in result.output


def test_a_family_without_a_record_is_mentioned_and_fails_only_where_it_was_named(ladder):
    result = ladder("--check")
    assert (result.exit_code, result.stdout) == (0, "toy: no record yet\n")
    assert ladder("toy", "--check").exit_code == 1
    assert "toy on t4: no record yet" in ladder("--check", "--device", "t4").stdout


def test_a_step_that_fails_is_told_and_the_others_are_recorded(ladder, folder, replace_run):
    replace_run("fast", lambda buffers, stream: None)
    result = ladder("toy", "--device", "h100")
    assert result.exit_code == 1
    assert "toy/fast fails on h100" in result.stderr and "never written" in result.stderr
    document = json.loads((folder / "h100" / "toy.json").read_text())
    assert [run["step"] for run in document["runs"]] == ["toy/slow", "toy/wide"]


def test_where_every_step_fails_the_old_record_stays(ladder, folder, toy, replace_run):
    record(ladder)
    before = (folder / "h100" / "toy.json").read_bytes()
    for step in toy:
        replace_run(step.name, lambda buffers, stream: None)
    assert ladder("toy", "--device", "h100").exit_code == 1
    assert (folder / "h100" / "toy.json").read_bytes() == before


@pytest.mark.parametrize("arguments", [["--device", "h100"], ["--check"]])
def test_a_broken_file_is_named_and_left_alone(ladder, folder, arguments):
    record(ladder)
    path = folder / "h100" / "toy.json"
    path.write_text(path.read_text().replace('"tag": "exact"', '"tag": "sure"', 1))
    broken = path.read_bytes()
    result = ladder(*arguments)
    assert result.exit_code == 2
    assert 'records/h100/toy.json: runs[0].counters["ptx__inst_executed"].tag: must be one of' in result.stderr
    assert path.read_bytes() == broken
    assert len([line for line in result.stderr.splitlines() if "toy.json" in line]) == 1


def test_replace_begins_a_broken_file_anew(ladder, folder):
    record(ladder)
    path = folder / "h100" / "toy.json"
    path.write_text("{")
    assert ladder("toy", "--device", "h100", "--replace").exit_code == 0
    assert len(json.loads(path.read_text())["runs"]) == 3


def test_a_gpu_is_measured_and_its_record_is_for_this_host_only(ladder, folder, gpu, monkeypatch):
    monkeypatch.setattr("simt.enable", lambda mode, quiet=False: "gpu")
    assert ladder("toy").stdout == "records/nvidia-toy/toy.json: 3 runs, measured\n"
    path = folder / "nvidia-toy" / "toy.json"
    before = path.read_bytes()
    assert ladder("--check").stdout == "toy on nvidia-toy: 3 runs hold\n"
    monkeypatch.setattr("workbook.records.environment.host", lambda: "another")
    result = ladder("toy")
    assert result.exit_code == 2
    assert "records/nvidia-toy/toy.json was measured on host " in result.stderr and "here it is host another" in result.stderr
    assert path.read_bytes() == before
    assert ladder("toy", "--replace").exit_code == 0
    assert json.loads(path.read_text())["env"]["host"] == "another"


def test_modelled_runs_do_not_join_a_measured_file(ladder, folder, gpu, target, monkeypatch):
    monkeypatch.setattr("simt.enable", lambda mode, quiet=False: "gpu")
    gpu.key = "h100"
    assert ladder("toy").exit_code == 0
    before = (folder / "h100" / "toy.json").read_bytes()
    target.kind = "modelled"
    result = ladder("toy", "--device", "h100")
    assert result.exit_code == 2
    assert "records/h100/toy.json is measured, and these runs are modelled" in result.stderr
    assert (folder / "h100" / "toy.json").read_bytes() == before


def test_ctrl_c_leaves_the_old_record(ladder, folder, replace_run):
    record(ladder)
    before = (folder / "h100" / "toy.json").read_bytes()

    def run(buffers, stream):
        raise KeyboardInterrupt

    replace_run("fast", run)
    result = ladder("toy", "--device", "h100")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    assert (folder / "h100" / "toy.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["to", "--device", "h100"], "no ladder 'to'; did you mean 'toy'?"),
        (["--device", "h101"], "no modelled device 'h101'"),
        (["--check", "--replace"], "--check writes nothing"),
    ],
)
def test_usage_errors_exit_2_and_say_what_to_type(ladder, arguments, said):
    result = ladder(*arguments)
    assert result.exit_code == 2 and said in result.stderr and "Traceback" not in result.output


def test_a_folder_that_cannot_be_written_is_named(ladder, folder):
    folder.write_text("a file")
    result = ladder("toy", "--device", "h100")
    assert result.exit_code != 0 and "Traceback" not in result.output
    assert "records" in result.stderr


def test_a_record_of_a_ladder_that_is_gone_fails_the_check(ladder, folder, toy, monkeypatch):
    record(ladder)
    path = folder / "h100" / "toy.json"
    path.write_text(path.read_text().replace('"toy/', '"gone/'))
    result = ladder("--check")
    assert result.exit_code == 1
    assert "gone/slow on h100 at m=64 n=64 k=64: recorded, but not counted now" in result.stdout
    assert "gone/slow is gone from its ladder" in result.stdout
