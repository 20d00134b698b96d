"""What the waiting thread does while a kernel runs: say how far it is, and stop it when the watchdog's time is over."""
from __future__ import annotations

import os
import sys
import time

PROGRESS_AFTER_S = 5.0
PROGRESS_EVERY_S = 1.0
TIMEOUT = 702               # CUDA_ERROR_LAUNCH_TIMEOUT


def limit_s() -> float | None:
    """SIMT_WATCHDOG_S: seconds that a launch may take; None for no limit. Raises ValueError for nonsense."""
    text = os.environ.get("SIMT_WATCHDOG_S", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"SIMT_WATCHDOG_S={text!r}: it is a number of seconds above 0")
    return seconds


class Watch:
    """``tick`` is called now and then; it returns False once the launch is to be stopped."""

    def __init__(self, name: str, launches: list):
        self.name, self.launches = name, launches
        self.began = time.monotonic()
        self.limit = limit_s()
        self.shown = 0.0
        self.timed_out = False

    def tick(self) -> bool:
        spent = time.monotonic() - self.began
        if self.limit is not None and spent > self.limit:
            self.timed_out = True
            return False
        if spent > PROGRESS_AFTER_S and spent - self.shown > PROGRESS_EVERY_S and sys.stderr.isatty():
            self.shown = spent
            total = sum(launch.block_count for launch in self.launches)
            begun = sum(min(int(launch.next_block[0]), launch.block_count) for launch in self.launches)
            sys.stderr.write(f"\rsimt: kernel {self.name}: {begun} of {total} blocks begun, {spent:.0f} s (Ctrl-C stops it) ")
            sys.stderr.flush()
        return True

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
