"""The command line as a process of its own: what it imports, and what `ladder test` hands on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workbook.cli.test import ROOT


def ladder(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "workbook", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # plugins take most of a short run's time
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("arguments", ["'list',", "'show', 'matmul/naive'"])
def test_list_and_show_import_neither_numba_nor_matplotlib(arguments):
    program = (
        "import sys; from workbook.cli import cli\n"
        f"cli([{arguments}], standalone_mode=False)\n"
        "heavy = {'numba', 'matplotlib', 'pytest', 'jupytext', 'rich.table'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("body", "code"), [("assert True", 0), ("assert False", 1), ("raise KeyboardInterrupt", 130)])
def test_test_hands_arguments_to_pytest_and_passes_the_outcome_on(tmp_path, body, code):
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {body}\n")
    done = ladder("test", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path / "test_one.py"))
    assert done.returncode == code, done.stdout + done.stderr


def test_test_with_an_option_that_pytest_does_not_know_is_a_usage_error():
    assert ladder("test", "--no-such-option", "tests/workbook/test_units.py").returncode == 2
