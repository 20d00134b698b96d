"""The command line on the emulated device: right kernels, wrong ones, and ones that break."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import simt
from simt.observe import names
from workbook.cli import cli
from workbook.cli.test import ROOT


def test_climb_proves_a_real_step_and_prints_its_counters_as_json(tmp_path):
    arguments = ["climb", "matmul", "--step", "naive", "--case", "64,96,32", "--json", "--no-png", "--seed", "5"]
    done = subprocess.run(
        [sys.executable, "-m", "workbook", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SIMT": "force", "SIMT_DEVICE": "h100"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["device"] == "h100" and document["kind"] == "modelled" and document["seed"] == 5
    assert document["case"] == {"m": 64, "n": 96, "k": 32}
    (step,) = document["steps"]
    assert step["step"] == "matmul/naive" and step["verified"] is True
    assert {"m": 1, "n": 1, "k": 1} in step["cases_verified"]
    # Each of 192 warps loads, 32 times, 32 rows of A (32 sectors) and one cell of B (1 sector).
    assert step["counters"][names.GLOBAL_REQUESTS_LD] == 192 * 32 * 2
    assert step["sectors_per_request_ld"] == 16.5 and step["sectors_per_request_st"] == 32
    assert step["bank_conflicts"] == 0 and step["registers"] > 0 and step["time_ns"] > 0
    assert step["speedup_first"] == 1 and step["speedup_previous"] is None
    assert "not validated yet" in done.stderr


@pytest.fixture(scope="module")
def bent():
    """One climb of a ladder whose first step is right and whose others fail, each in its own way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernels.ladder.ladder_names", lambda: ["bent"])
        return CliRunner().invoke(cli, ["climb", "bent", "--no-png", "--seed", "5"])


def about(result, step):
    """What the climb says about one failed step."""
    return re.search(rf"^bent/{step}: .*?again: ", result.stdout, re.DOTALL | re.MULTILINE)[0]


needs_emulation = pytest.mark.skipif(simt.backend() != "emulated", reason="a fault on a GPU ends its process's work")


@needs_emulation
def test_failing_steps_give_exit_1_and_no_traceback_and_spare_the_others(bent):
    assert bent.exit_code == 1
    assert "Traceback" not in bent.output
    assert re.search(r"^right +\d.* µs", bent.stdout, re.MULTILINE)


@needs_emulation
@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("transposed", "the result equals the transpose"),
        ("unfinished", "never written: columns 64..69 (240 cells)"),
        ("unguarded", "s40_unguarded.py:22: c[row, col] = a[row, col] + a[row, col]"),
        ("untyped", 's50_untyped.py:22: c[row, col] = a[row, col] + "one"'),
    ],
)
def test_each_failure_names_its_cause(bent, step, said):
    assert said in about(bent, step)
    assert len(about(bent, step).splitlines()) <= 24  # one screen
