"""A save is seen whether the editor writes in place or replaces the file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbook.exercises import watch


def _replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text("y = 2\n")
    os.replace(other, path)


def _remove_and_write(path: Path) -> None:
    path.unlink()
    time.sleep(0.05)
    path.write_text("y = 2\n")


def _write(path: Path) -> None:
    path.write_text("y = 22\n")


@pytest.mark.parametrize("save", [_write, _replace, _remove_and_write])
def test_a_save_is_seen(tmp_path: Path, save: Callable[[Path], None]) -> None:
    path = tmp_path / "file.py"
    path.write_text("x = 1\n")
    before = watch.mark(path)
    threading.Timer(0.1, save, [path]).start()
    now = watch.wait_for_save(path, before, every_s=0.02)
    assert now == watch.mark(path) != before
