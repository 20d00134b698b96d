"""What a check asks of a process, how the process answers, and its beginning and end. It imports nothing slow.

A check is two requests at once, one for each of PARTS: a process that compares results, and one that looks for races and
counts. Messages carry a word that only the two ends know, so that what a file writes into a pipe by mistake is no verdict.
Against a file that cheats on purpose there is no defence: it runs as the reader, who has the solution.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbook.exercises.result import Spent, Trouble
from workbook.words import cut

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

RESULTS, CONDUCT = "results", "conduct"
PARTS = (RESULTS, CONDUCT)
"""What the outputs are; what the kernel does on the way there: races, unwritten memory, barriers, precision, cost."""

WATCHDOG_S = 10  # for one launch
NOT_INHERITED = ("SIMT", "SIMT_SCHEDULE", "SIMT_WATCHDOG_S", "SIMT_DEVICE")
SETTINGS = {"SIMT_WATCHDOG_S": str(WATCHDOG_S), "SIMT_QUIET": "1", "SIMT_OPTIMISE": "off"}  # kernels here run for a moment
MOST_LINES = 100  # of a trouble
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl


class Garbage(ValueError):
    """What came through the pipe is no message of a check."""


@dataclasses.dataclass(frozen=True)
class Request:
    """`parts`: of PARTS, to do one after the other; `folder` holds what the process writes; `word` begins its messages."""

    exercise: str
    path: str
    seed: int
    limit_s: float
    folder: str
    word: str
    parts: tuple[str, ...] = PARTS

    @property
    def printed(self) -> Path:
        return Path(self.folder) / f"printed-{self.parts[0]}"

    @property
    def stuck(self) -> Path:
        """Where the process says on which line it hung or crashed."""
        return Path(self.folder) / f"stuck-{self.parts[0]}"


@dataclasses.dataclass(frozen=True)
class Found:
    """What one process found."""

    trouble: Trouble | None = None
    spent: tuple[Spent, ...] = ()
    cases: int = 0

    def short(self) -> Found:
        """Without what no screen can show, and no pipe has to carry."""
        if self.trouble is None:
            return self
        lines = tuple(cut(line) for line in self.trouble.lines[:MOST_LINES])
        return dataclasses.replace(self, trouble=dataclasses.replace(self.trouble, title=cut(self.trouble.title), lines=lines))

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Found:
        trouble = found["trouble"]
        if trouble is not None:
            trouble = Trouble(trouble["kind"], trouble["title"], tuple(trouble["lines"]), trouble["line"])
        return cls(trouble, tuple(Spent(**spent) for spent in found["spent"]), int(found["cases"]))


def received(message: bytes, word: str) -> str | Found:
    """The stage that has begun, or what was found in the end. Raises Garbage."""
    try:
        said = json.loads(message)
        if said["word"] != word:
            raise ValueError("another word")
        return str(said["stage"]) if "stage" in said else Found.from_json(said["found"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Garbage(repr(error)) from None


class Stages:
    """Tells the parent what is being done; a stage that outlasts the limit ends the process, which says where it was."""

    def __init__(self, asked: Request, pipe: Connection) -> None:
        self.asked, self.pipe = asked, pipe
        self.stuck = open(asked.stuck, "w", encoding="utf-8")  # noqa: SIM115 it stays open as long as the process
        faulthandler.enable(file=self.stuck, all_threads=False)

    def begin(self, stage: str) -> None:
        faulthandler.dump_traceback_later(self.asked.limit_s, exit=True, file=self.stuck)
        self._send(stage=stage)

    def end(self, found: Found) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._send(found=dataclasses.asdict(found.short()))

    def _send(self, **message: Any) -> None:
        self.pipe.send_bytes(json.dumps({"word": self.asked.word, **message}).encode())


def serve(asked: Request, pipe: Connection) -> None:
    """Answer one request; runs in a process of its own, the first of a group that ends with the check."""
    os.setsid()  # also out of reach of Ctrl-C, which is for the parent
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    try:
        _redirect(asked.printed)
        stages = Stages(asked, pipe)
        os.environ.update(SETTINGS)
        stages.end(_examined(asked, stages))
        sys.stdout.flush()
        sys.stderr.flush()
    except (BrokenPipeError, FileNotFoundError):  # the check was interrupted: nobody listens any more
        return


def _examined(asked: Request, stages: Stages) -> Found:
    """What is found; where the check itself is broken, where it is."""
    try:
        from workbook.exercises import examine

        with _raising_exit():
            return examine.examine(asked, stages.begin)
    except BrokenPipeError:
        raise
    except BaseException as error:
        from kernels.broken import told

        said = ("your file may be right: `doctor` says whether the installation is",)
        return Found(Trouble("crash", f"the check itself is broken: {told(error)}", said))


@contextlib.contextmanager
def _raising_exit() -> Iterator[None]:
    """os._exit leaves no trace of the line that called it: in this process, not in those it forks, it raises SystemExit."""
    plain, here = os._exit, os.getpid()

    def told(status: int) -> None:
        if os.getpid() != here:
            plain(status)
        raise SystemExit(status)

    os._exit = told
    try:
        yield
    finally:
        os._exit = plain


def _redirect(path: Path) -> None:
    """What Python and compiled code print goes to a file."""
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115 see above
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115 see above
