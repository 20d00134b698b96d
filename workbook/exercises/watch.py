"""Waits for a file to be saved, by whatever means an editor has: written in place, or replaced by another file."""

from __future__ import annotations

import time
from pathlib import Path

EVERY_S = 0.2
Mark = tuple[int, int, int] | None


def mark(path: Path) -> Mark:
    """What changes when the file is saved; None while it is not there, as in the middle of being replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def wait_for_save(path: Path, before: Mark, every_s: float = EVERY_S) -> Mark:
    """Return once the file is there and its mark differs from `before`, and has been the same twice."""
    last = before
    while True:
        time.sleep(every_s)
        now = mark(path)
        if now is not None and now != before and now == last:
            return now
        last = now
