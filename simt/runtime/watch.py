"""What the waiting thread does while a kernel runs: say how far it is, and stop it when the watchdog's time is over.

Without SIMT_WATCHDOG_S nothing is ever stopped: a long kernel may be an honest one. On a terminal its progress is one line that
is written over; elsewhere (a notebook, a log) it is a line per minute, which SIMT_QUIET=1 silences.
"""
from __future__ import annotations

import os
import sys
import time

from simt.runtime.faults import WrongSetting

PROGRESS_AFTER_S = 5.0
PROGRESS_EVERY_S = 1.0
LINE_EVERY_S = 60.0         # where standard error is no terminal
TIMEOUT = 702               # CUDA_ERROR_LAUNCH_TIMEOUT


def limit_s() -> float | None:
    """SIMT_WATCHDOG_S: seconds that a launch may take; None for no limit. Raises WrongSetting for nonsense."""
    text = os.environ.get("SIMT_WATCHDOG_S", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise WrongSetting(f"SIMT_WATCHDOG_S={text!r}: it is a number of seconds above 0")
    return seconds


def standard_error():
    """sys.stderr, or None where there is none (a daemon), or a closed one."""
    return None if sys.stderr is None or sys.stderr.closed else sys.stderr


class Watch:
    """``tick`` is called now and then; it returns False once the launch is to be stopped."""

    def __init__(self, name: str, launches: list):
        self.name, self.launches = name, launches
        self.began = time.monotonic()
        self.limit = limit_s()
        self.shown = 0.0
        self.on_terminal = (stream := standard_error()) is not None and stream.isatty()
        self.timed_out = False

    def tick(self) -> bool:
        spent = time.monotonic() - self.began
        if self.limit is not None and spent > self.limit:
            self.timed_out = True
            return False
        after, every = (PROGRESS_AFTER_S, PROGRESS_EVERY_S) if self.on_terminal else (LINE_EVERY_S, LINE_EVERY_S)
        if spent > after and spent - self.shown > every:
            self.shown = spent
            self.show(spent)
        return True

    def show(self, spent: float) -> None:
        total = sum(launch.block_count for launch in self.launches)
        begun = sum(min(int(launch.next_block[0]), launch.block_count) for launch in self.launches)
        text = f"simt: kernel {self.name}: {begun} of {total} blocks begun, {spent:.0f} s"
        if self.on_terminal:
            sys.stderr.write(f"\r{text} (Ctrl-C stops it) ")
            sys.stderr.flush()
        elif not os.environ.get("SIMT_QUIET") and (stream := standard_error()) is not None:
            stream.write(f"{text} (with SIMT_WATCHDOG_S=60 it would stop after a minute and name the line)\n")
            stream.flush()

    def end(self) -> None:
        if self.shown and self.on_terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
