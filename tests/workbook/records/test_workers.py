"""Devices of one compute capability share a process; a process that is lost is told of, and none stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from simt import model
from workbook.failure import Failure
from workbook.records import workers

PLAN = {"toy": ["toy"]}


def test_devices_of_one_compute_capability_make_a_group():
    groups = workers.by_capability(model.names())
    assert sorted(name for group in groups for name in group) == list(model.names())
    assert ["h100", "h200"] in groups and ["t4"] in groups


def test_an_unknown_device_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match="no modelled device 'h101'"):
        list(workers.count(PLAN, ["h101"], True, print))


def test_the_second_device_of_a_group_leaves_out_what_failed_on_the_first(family, target, monkeypatch, replace_run):
    replace_run("fast", lambda buffers, stream: None)
    asked = []

    def choose(device):
        asked.append(device)
        target.key = device
        return target

    monkeypatch.setattr("workbook.target.choose", choose)
    first, second = workers.here(PLAN, ["h100", "h200"], True, lambda text: None)
    assert asked == ["h100", "h200"]
    for counted in (first, second):
        assert [run["step"] for run in counted.document["runs"]] == ["toy/slow", "toy/wide"]
        assert [step for step, _ in counted.failures] == ["toy/fast"]
    assert (first.document["device"], second.document["device"]) == ("h100", "h200")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a shell script in the place of the processes that count."""

    def put(script):
        path = tmp_path / "python"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return tmp_path

    return put


def test_what_the_processes_tell_comes_back_with_failures(program):
    program("""
cat > /dev/null
echo a line of some kernel
echo 'record: {"document": {"device": "'$SIMT_DEVICE'"}, "failures": [["toy/fast", {"what": "w", "lines": ["l"]}]]}'
""")
    counted = list(workers.count(PLAN, ["t4", "a100"], True, print))
    assert sorted(answer.document["device"] for answer in counted) == ["a100", "t4"]
    assert counted[0].failures == [("toy/fast", Failure("w", ("l",)))]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("cat > /dev/null; echo 'MemoryError: 40 GiB' >&2; exit 1\n", "exit code 1: MemoryError: 40 GiB"),
        ("cat > /dev/null\n", "exit code 0: it said nothing"),
        ("cat > /dev/null; kill -9 $$\n", "exit code -9: it said nothing"),
    ],
)
def test_a_lost_process_is_told_of_with_its_last_words(program, script, said):
    program(script)
    with pytest.raises(workers.Lost, match=f"counting on (t4|a100) ended with {said}"):
        list(workers.count(PLAN, ["t4", "a100"], True, print))


def test_no_process_stays_behind_when_the_first_is_lost(program):
    folder = program("""
cat > /dev/null
if [ $SIMT_DEVICE = t4 ]; then exit 3; fi
echo $$ > "$0.pid"
exec sleep 60
""")
    began = time.monotonic()
    with pytest.raises(workers.Lost):
        list(workers.count(PLAN, ["a100", "t4"], True, print))
    assert time.monotonic() - began < 30
    pid = folder / "python.pid"
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_the_process_says_in_words_what_it_cannot_do():
    done = subprocess.run(
        [sys.executable, "-m", "workbook.records.workers"],
        input='{"plan": {"no": ["no"]}, "devices": ["t4"], "prove": false}',
        cwd=workers.ROOT, env={**os.environ, "SIMT": "force", "SIMT_DEVICE": "t4"}, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("kernels.ladder.UnknownName: there is no ladder 'no'")
    assert done.stdout == ""
