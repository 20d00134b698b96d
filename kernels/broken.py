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
        raise Broken(told(error, path)) from error


def message(error: BaseException) -> str:
    """str(error), and what there is to say where that raises."""
    try:
        return str(error)
    except Exception as again:
        return f"(its message cannot be made: __str__ raises {type(again).__name__})"


def told(error: BaseException, path: Path | None = None) -> str:
    """In one line: the project's file and line that an error comes from, or else the file at `path`, and the error."""
    file, line = _place(error, path)
    what = error.msg if isinstance(error, SyntaxError) else message(error).strip().partition("\n")[0]
    said = f"{type(error).__name__}: {what}"
    if file is None:
        return said
    return f"{file.relative_to(PROJECT) if file.is_relative_to(PROJECT) else file}{f':{line}' if line else ''}: {said}"


def _place(error: BaseException, path: Path | None) -> tuple[Path | None, int | None]:
    """The innermost line of the project's code on the way to the error, but for the code that reads steps."""
    if isinstance(error, SyntaxError):
        return (Path(error.filename) if error.filename and error.filename != "<unknown>" else path), error.lineno
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    reader = {Path(__file__).with_name(name) for name in ("broken.py", "ladder.py", "fingerprint.py")}
    inside = [(file, line) for file, line in frames if file == path or (PROJECT in file.parents and file not in reader)]
    return inside[-1] if inside else (path, None)
