"""What a step that is wrong or broken shows: one readable screen, without a traceback through the harness."""

from __future__ import annotations

import dataclasses
import linecache
import re
import traceback

from kernels.broken import Broken, message
from simt.driver.hints import line_looked_at
from workbook.words import cut

HEAD_LINES, TAIL_LINES = 8, 8
_CANDIDATE = re.compile(r"\s*\* \(.*\) -> ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclasses.dataclass(frozen=True)
class Failure:
    """`what` is one line; `lines` say more, in the order in which a person should read them.

    `recognised`: the wrong result has a known cause; `final`: the step raised, so other cases would say the same.
    """

    what: str
    lines: tuple[str, ...]
    recognised: bool = False
    final: bool = False


def broken(error: BaseException, doing: str, source_path: str | None) -> Failure:
    """A step that raised: the line of the step that did it, the error's message, and its notes."""
    if isinstance(error, Broken) and error.__cause__ is not None:
        error = error.__cause__
    lines = _shortened(_COLOUR.sub("", message(error)).strip().splitlines())
    for note in _notes(error):
        lines += map(cut, _COLOUR.sub("", note).rstrip().splitlines())
    line = _line_at_fault(error, source_path)
    if source_path is not None and line is not None:
        lines.insert(0, f"at {source_path}:{line}: {linecache.getline(source_path, line).strip()}")
    return Failure(f"{type(error).__name__} while {doing}", tuple(lines), final=True)


def _line_at_fault(error: BaseException, source_path: str | None) -> int | None:
    """The innermost line of the step on the way to the error: where it called, or what the compiler was looking at."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == source_path:
            found = line
        found = line_looked_at(frame, source_path) or found
    for note in _notes(error):  # simt names the line there
        if named := re.search(rf"{re.escape(str(source_path))}:(\d+)", note):
            found = int(named[1])
    return found


def _notes(error: BaseException) -> list[str]:
    """Whoever writes an exception may keep something else under this name."""
    notes = getattr(error, "__notes__", ())
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list | tuple) else []


def _shortened(lines: list[str]) -> list[str]:
    """The beginning and the end, which is where numba puts the cause and the source line, without its candidates."""
    lines = [cut(line.rstrip()) for line in lines if not _CANDIDATE.match(line)]
    lines = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    left_out = len(lines) - HEAD_LINES - TAIL_LINES
    if left_out <= 1:
        return lines
    return [*lines[:HEAD_LINES], f"… {left_out} more lines …", *lines[-TAIL_LINES:]]
