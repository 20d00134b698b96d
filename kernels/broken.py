"""Code of a ladder that does not work as a file: which file, which line, and what is wrong with it."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

from kernels.fingerprint import PROJECT


class Broken(Exception):
    """A file that cannot be read, imported or understood. The message has it all in one line; the cause is what was raised."""


@contextlib.contextmanager
def said_of(path: Path | None) -> Iterator[None]:
    """Whatever is raised inside becomes Broken, about the line of the project that did it, else about the file at `path`."""
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        file, line = _place(error, path)
        where = f"{file.relative_to(PROJECT) if file and file.is_relative_to(PROJECT) else file}{f':{line}' if line else ''}"
        what = error.msg if isinstance(error, SyntaxError) else str(error).strip().partition("\n")[0]
        raise Broken(f"{where}: {type(error).__name__}: {what}") from error


def _place(error: Exception, path: Path | None) -> tuple[Path | None, int | None]:
    """The innermost line of the project's code on the way to the error that is not where we looked on."""
    if isinstance(error, SyntaxError):
        return (Path(error.filename) if error.filename and error.filename != "<unknown>" else path), error.lineno
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = Path(__file__).parent
    reader = {ours / name for name in ("broken.py", "ladder.py", "fingerprint.py")}
    inside = [(file, line) for file, line in frames if file == path or (ours in file.parents and file not in reader)]
    return inside[-1] if inside else (path, None)
