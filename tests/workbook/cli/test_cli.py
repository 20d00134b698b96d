"""The commands as a person types them: what they print, where, and their exit codes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import workbook.target
from kernels import ladder as ladders
from workbook.cli import cli


@pytest.fixture
def ladder(toy, target, monkeypatch, tmp_path):
    """Runs a command line in an empty folder, on the toy ladder and the target without a device."""
    names = lambda: ["matmul", "toy"]  # noqa: E731  a name for the stand-in
    for module in ("kernels.ladder", "workbook.cli.list", "workbook.families"):
        monkeypatch.setattr(f"{module}.ladder_names", names)
    monkeypatch.setattr(workbook.target, "choose", lambda device: target)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(cli, arguments, prog_name="ladder")

    return run


@pytest.fixture
def broken_fast(replace_run):
    def run(buffers, stream):
        buffers["c"][...] = (buffers["a"] @ buffers["b"]).T.reshape(buffers["c"].shape)

    replace_run("fast", run)


def test_climb_prints_headline_seed_table_and_picture(ladder, tmp_path):
    result = ladder("climb", "toy", "--seed", "7")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "toy at m=64 n=64 k=64, modelled on a toy; the model's error is not validated yet"
    assert lines[1] == "inputs from seed 7"
    assert [line.split()[0] for line in lines[2:6]] == ["step", "slow", "fast", "wide"]
    assert "picture: out/climb-toy-h100.png" in lines
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and (tmp_path / "out" / "climb-toy-h100.png").exists()


def test_climb_shows_why_a_step_does_not_pay(ladder):
    assert "toy/wide is slower: 0.800x the speed of toy/fast" in ladder("climb", "toy", "--no-png").stdout


def test_a_step_alone_is_still_compared(ladder):
    result = ladder("climb", "toy", "--step", "toy/wide", "--no-png")
    assert [line.split()[0] for line in result.stdout.splitlines()[2:4]] == ["step", "wide"]
    assert "12.8   0.800" in result.stdout
    assert "toy/wide is slower" in result.stdout


def test_json_stands_alone_on_stdout(ladder):
    result = ladder("climb", "toy", "--json", "--no-png", "--case", "8,16,24", "--seed", "3")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["case"] == {"m": 8, "n": 16, "k": 24} and document["seed"] == 3
    assert "not validated yet" in result.stderr


def test_a_wrong_step_exits_1_with_its_diagnosis_and_the_command_that_repeats_it(ladder, broken_fast):
    result = ladder("climb", "toy", "--no-png", "--seed", "7")
    assert result.exit_code == 1
    assert "equals the transpose" in result.stdout
    assert "again: ladder climb toy --step fast --seed 7" in result.stdout
    assert "FAILED" in result.stdout and "wide" in result.stdout


def test_a_step_that_raises_exits_1_without_a_traceback(ladder, replace_run):
    def run(buffers, stream):
        raise TypeError("no match for [bold]operator[/bold]")

    replace_run("fast", run)
    result = ladder("climb", "toy", "--no-png")
    assert result.exit_code == 1
    assert "toy/fast: TypeError while running toy/fast on m=2 n=3 k=1" in result.stdout
    assert "no match for [bold]operator[/bold]" in result.stdout
    assert "Traceback" not in result.output


def test_ctrl_c_prints_one_line_and_exits_130(ladder, replace_run):
    def run(buffers, stream):
        raise KeyboardInterrupt

    replace_run("fast", run)
    result = ladder("climb", "toy", "--no-png")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_a_picture_that_cannot_be_written_does_not_hide_the_result(ladder, tmp_path):
    result = ladder("climb", "toy", "--png", str(tmp_path / "missing" / "toy.png"))
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())          # the console wraps lines where the path is long
    assert "no picture" in said and "choose a place with --png PATH" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["clim"], "no command 'clim'; did you mean 'climb'?"),
        (["climb"], "Missing argument 'FAMILY'"),
        (["climb", "to"], "no ladder 'to'; did you mean 'toy'?"),
        (["climb", "toy", "--step", "fats"], "no step of toy 'fats'; did you mean 'fast'?"),
        (["climb", "toy", "--case", "1,2"], '"1,2" is not m,n,k: 3 whole numbers >= 1, such as 64,64,64'),
        (["climb", "toy", "--seed", "-1"], "Invalid value for '--seed'"),
        (["climb", "toy", "--png", "x.png", "--no-png"], "exclude each other"),
        (["show", "fats"], "no step 'fats'; did you mean 'fast'?"),
        (["show", "toy/fats"], "no step of toy 'fats'; did you mean 'fast'?"),
    ],
)
def test_usage_errors_exit_2_and_say_what_to_type(ladder, arguments, said):
    result = ladder(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""


def test_list_gives_families_and_steps_with_titles(ladder):
    lines = ladder("list").stdout.splitlines()
    assert "toy" in lines and "matmul" in lines
    assert "  toy/fast  The same, sixteen times as fast." in lines


@pytest.mark.parametrize("name", ["toy/fast", "fast"])
def test_show_prints_the_docstring_and_the_diff_against_the_step_before(ladder, name):
    result = ladder("show", name)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["toy/fast", "The same, sixteen times as fast."]
    assert "--- s10_slow.py\n+++ s20_fast.py\n" in result.stdout
    assert '-    stream.append({"time_ns": 64000.0' in result.stdout
    assert '+    stream.append({"time_ns": 4000.0' in result.stdout


def test_show_prints_the_first_step_in_full(ladder):
    result = ladder("show", "toy/slow")
    assert ladders.load_step("toy/slow").source in result.stdout


def test_show_lists_the_steps_of_a_ladder(ladder):
    lines = ladder("show", "toy").stdout.splitlines()
    assert lines[0] == "toy" and "  toy/fast  The same, sixteen times as fast." in lines


@pytest.mark.parametrize("name", ["matmul/tiled", "coalesced", "quant", "argmax"])
def test_what_the_help_of_show_offers_works(name):
    assert "matmul/tiled" in (said := CliRunner().invoke(cli, ["show", "--help"]).stdout) and "coalesced" in said
    assert CliRunner().invoke(cli, ["show", name]).exit_code == 0


def test_a_word_of_several_ladders_asks_which_by_ids_that_work():
    result = CliRunner().invoke(cli, ["show", "tiled"])
    assert result.exit_code == 2
    assert "'tiled' is a step of several ladders: say matmul/tiled or int8_matmul/tiled" in result.stderr
