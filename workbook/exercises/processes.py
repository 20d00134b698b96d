"""The processes of one check: forked from one that has everything imported (warm.py), heard, and gone afterwards."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing import connection, forkserver, resource_tracker
from pathlib import Path
from typing import Any

from workbook.exercises import request
from workbook.exercises.explain import located
from workbook.exercises.request import Found, Request
from workbook.exercises.result import Trouble

GRACE_S = 5.0  # for a process to say where it hangs, before it is killed
MOST_BYTES = 1 << 20  # of a message

Watch = Callable[[str], None]


class Helper:
    """One process and the end of its pipe. `found` is what it answered, or how it ended without; None while it works."""

    def __init__(self, asked: Request, process: Any, pipe: connection.Connection) -> None:
        self.asked, self.process, self.pipe = asked, process, pipe
        self.stage, self.heard, self.found = "starting", time.monotonic(), None

    def hear(self) -> None:
        """Take the message that is there."""
        try:
            said = request.received(self.pipe.recv_bytes(MOST_BYTES), self.asked.word)
        except EOFError:
            self.is_over()
        except (OSError, request.Garbage):
            title = f"something wrote into the pipe through which the check is told what was found, while {self.stage}"
            self.found = Found(Trouble("crash", title, ("a file may write to the descriptors that it opened itself",)))
        else:
            self.stage, self.heard = (said, time.monotonic()) if isinstance(said, str) else (self.stage, self.heard)
            self.found = said if isinstance(said, Found) else None

    def is_over(self) -> None:
        """Note how it ended without an answer."""
        self.process.join(GRACE_S)
        self.found = Found(self._ended(self.process.exitcode))

    def wait_s(self) -> float:
        """How long it may still be silent."""
        return max(self.heard + self.asked.limit_s + GRACE_S - time.monotonic(), 0.0)

    def hang(self) -> Trouble:
        where = self._where()
        lines = where or ("no line of the file was running: a kernel, or the compiler, did not come back",)
        title = f"nothing happened for {self.asked.limit_s:.0f} s while {self.stage}"
        return Trouble("hang", title, lines, _number(where))

    def end(self) -> None:
        """Kill it, and whatever it forked."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _ended(self, code: int | None) -> Trouble:
        where = self._where()
        if code is not None and code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            return Trouble("crash", f"the process died of {name} while {self.stage}", where, _number(where))
        if _end(self.asked.stuck):
            return self.hang()
        said = ("something in the file ended it, or closed what it had not opened",)
        return Trouble("crash", f"the process ended with exit code {code} while {self.stage}", said)

    def _where(self) -> tuple[str, ...]:
        """The reader's line in what the process wrote as it hung or crashed."""
        found = re.search(rf'File "{re.escape(self.asked.path)}", line (\d+)', _end(self.asked.stuck))
        return (located(Path(self.asked.path), int(found[1])),) if found else ()


def answers(asked: list[Request], watch: Watch) -> list[Found]:
    """What the processes found, in the order of the requests, up to the first with a trouble. `watch` hears each stage."""
    with contextlib.ExitStack() as stack:
        helpers = [stack.enter_context(_running(one)) for one in asked]
        for number, helper in enumerate(helpers):
            shown = ""
            while helper.found is None:
                if helper.stage != shown:
                    shown = helper.stage
                    watch(shown)
                _hear(helpers)
            if helper.found.trouble is not None:
                return [one.found for one in helpers[: number + 1]]
        return [helper.found for helper in helpers]


def _hear(helpers: list[Helper]) -> None:
    """Wait until one says something, or has been silent for too long, or has ended: what it forked may hold its pipe open."""
    working = [helper for helper in helpers if helper.found is None]
    ends = [end for helper in working for end in (helper.pipe, helper.process.sentinel)]
    ready = connection.wait(ends, min(helper.wait_s() for helper in working))
    for helper in working:
        if helper.pipe in ready:
            helper.hear()
        elif helper.process.sentinel in ready:
            helper.is_over()
        elif helper.wait_s() == 0:
            helper.found = Found(helper.hang())


@contextlib.contextmanager
def _running(asked: Request) -> Iterator[Helper]:
    """The process is gone afterwards, whatever happens."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["workbook.exercises.preload"])
    _start_server()
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=request.serve, args=(asked, theirs), daemon=True)
    try:
        process.start()
        theirs.close()
        helper = Helper(asked, process, mine)
    except BaseException:  # Ctrl-C: nobody listens, so that a process that starts all the same ends at its first word
        mine.close()
        theirs.close()
        raise
    try:
        yield helper
    finally:
        helper.end()


def _start_server() -> None:
    """Start the process that all are forked from: without a schedule or mode of ours, and deaf to Ctrl-C as it imports."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name in request.NOT_INHERITED}
    resource_tracker.ensure_running()  # else it is started below, and takes the signal off the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.environ.update(kept)


def _number(where: tuple[str, ...]) -> int | None:
    found = re.match(r"at .*?:(\d+):", where[0]) if where else None
    return int(found[1]) if found else None


def _end(path: Path) -> str:
    """The last part of a file that may not be there."""
    try:
        return path.read_text(errors="replace")[-MOST_BYTES:]
    except OSError:
        return ""
