"""What a check is asked, and the beginning and end of the process that answers. It imports nothing slow."""

from __future__ import annotations

import dataclasses
import faulthandler
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WATCHDOG_S = 10  # for one launch
NOT_INHERITED = ("SIMT", "SIMT_SCHEDULE", "SIMT_WATCHDOG_S", "SIMT_DEVICE")


@dataclasses.dataclass(frozen=True)
class Request:
    """`folder` holds what the process writes: `printed`, and `stuck` where it hung."""

    exercise: str
    path: str
    seed: int
    limit_s: float
    folder: str

    @property
    def printed(self) -> str:
        return str(Path(self.folder) / "printed")

    @property
    def stuck(self) -> str:
        return str(Path(self.folder) / "stuck")


class Stages:
    """Tells the parent what is being done; a stage that outlasts the limit ends the process, which says where it was."""

    def __init__(self, asked: Request, pipe: Connection) -> None:
        self.asked, self.pipe = asked, pipe
        self.stuck = open(asked.stuck, "w", encoding="utf-8")  # noqa: SIM115 it stays open as long as the process
        faulthandler.enable(file=self.stuck, all_threads=False)

    def begin(self, stage: str) -> None:
        faulthandler.dump_traceback_later(self.asked.limit_s, exit=True, file=self.stuck)
        self.pipe.send(("stage", stage))

    def end(self, found: dict[str, Any]) -> None:
        faulthandler.cancel_dump_traceback_later()
        self.pipe.send(("result", found))


def serve(asked: Request, pipe: Connection) -> None:
    """Answer one request; runs in a process of its own."""
    _redirect(asked.printed)
    os.environ.update(SIMT_WATCHDOG_S=str(WATCHDOG_S), SIMT_QUIET="1")
    stages = Stages(asked, pipe)
    from workbook.exercises import examine

    stages.end(examine.examine(asked, stages.begin))
    sys.stdout.flush()
    sys.stderr.flush()


def _redirect(path: str) -> None:
    """What Python and compiled code print goes to a file."""
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115 see above
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115 see above
