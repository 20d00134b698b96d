"""How a long kernel is told from an endless one: by nobody but the reader, who is shown how far it is."""
from __future__ import annotations

import io
import types

import numpy as np
import pytest

from simt.runtime import watch


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves: ``clock.now``, in seconds."""
    made = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(watch.time, "monotonic", lambda: made.now)
    monkeypatch.delenv("SIMT_WATCHDOG_S", raising=False)
    monkeypatch.delenv("SIMT_QUIET", raising=False)
    return made


def watching(monkeypatch, stream) -> watch.Watch:
    """Of a kernel whose blocks 0 to 2 have begun, of 10."""
    monkeypatch.setattr(watch.sys, "stderr", stream)
    launch = types.SimpleNamespace(block_count=10, next_block=np.array([3]))
    return watch.Watch("slow", [launch])


def run(one: watch.Watch, clock, until_s: float) -> list[bool]:
    answers = []
    while clock.now - 100 < until_s:
        clock.now += 0.5
        answers.append(one.tick())
    one.end()
    return answers


def test_without_a_limit_no_kernel_is_ever_stopped(monkeypatch, clock):
    assert all(run(watching(monkeypatch, io.StringIO()), clock, 100_000))


def test_a_terminal_shows_one_line_that_is_written_over_and_taken_away(monkeypatch, clock):
    stream = Terminal()
    run(watching(monkeypatch, stream), clock, 8)
    written = stream.getvalue()
    assert "simt: kernel slow: 3 of 10 blocks begun, 6 s (Ctrl-C stops it)" in written
    assert "\n" not in written and written.endswith("\r\033[K")


def test_short_kernels_show_nothing(monkeypatch, clock):
    for stream in (Terminal(), io.StringIO()):
        clock.now = 100.0
        run(watching(monkeypatch, stream), clock, 4)
        assert stream.getvalue() == ""


def test_elsewhere_there_is_a_line_per_minute_that_names_the_watchdog(monkeypatch, clock):
    stream = io.StringIO()
    run(watching(monkeypatch, stream), clock, 150)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("simt: kernel slow: 3 of 10 blocks begun, 60 s (with SIMT_WATCHDOG_S=60")


def test_quiet_means_quiet(monkeypatch, clock):
    monkeypatch.setenv("SIMT_QUIET", "1")
    stream = io.StringIO()
    run(watching(monkeypatch, stream), clock, 150)
    assert stream.getvalue() == ""


def test_the_limit_stops_at_its_time(monkeypatch, clock):
    monkeypatch.setenv("SIMT_WATCHDOG_S", "7.5")
    one = watching(monkeypatch, io.StringIO())
    answers = run(one, clock, 10)
    assert answers.index(False) == 15 and one.timed_out


@pytest.mark.parametrize("stream", [None, "closed"])
def test_without_a_standard_error_kernels_run_all_the_same(monkeypatch, clock, stream):
    closed = Terminal()
    closed.close()
    assert all(run(watching(monkeypatch, closed if stream else None), clock, 150))
