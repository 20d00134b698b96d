"""Reads regular files only: a pipe has no end until somebody writes, and /dev/zero has none at all."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read(path: Path) -> str:
    """The text of the file, in UTF-8. Raises OSError, also where it is no regular file, and UnicodeDecodeError."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder, opening it says what it is
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark of its encoding
