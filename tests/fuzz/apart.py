"""Runs programs in a process of its own, so that a crash costs one program and not the run."""
from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from tests.fuzz.runner import HANG_S, NotCompiled, case_of, problem, worker_threads
from tests.fuzz.tree import Program

GRACE_S = 180.0             # beyond HANG_S: compiling, and an interrupt that the device does not hear


def outcome(program: Program, counted: bool) -> tuple[str, str]:
    """(kind, details) of a program's failure; ("", "") for none."""
    try:
        case = case_of(program)
    except NotCompiled:
        return "NotCompiled", ""
    except Exception as error:
        return "BadProgram", f"{type(error).__name__}: {error}"
    return problem(case, counted)


def work(pipe: Connection, threads: int | None, counted: int) -> None:
    """A child process: receives programs, sends outcomes. ``counted``: every how many programs runs with counters as well."""
    worker_threads(threads)
    while (program := received(pipe)) is not None:
        kind, details = outcome(program, False)
        if not kind and counted and program.seed % counted == 0:
            kind, details = outcome(program, True)
            details = "with counters: " + details if kind else ""
        pipe.send((kind, details))


def received(pipe: Connection) -> Program | None:
    """The next program; None when there are no more, or nobody who would send one."""
    try:
        return pipe.recv()
    except EOFError:
        return None


class Child:
    """A process that runs programs, replaced when one takes it down."""

    def __init__(self, threads: int | None, counted: int):
        self.arguments = (threads, counted)
        self.process: multiprocessing.Process | None = None

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, *self.arguments), daemon=True)
        self.process.start()
        other.close()

    def run(self, program: Program) -> tuple[str, str]:
        if self.process is None:
            self.start()
        self.pipe.send(program)
        try:
            if self.pipe.poll(HANG_S + GRACE_S):
                return self.pipe.recv()
            self.process.kill()
            self.process, found = None, ("Hang", "the process does not answer")
        except (EOFError, ConnectionResetError):
            self.process.join()
            self.process, found = None, ("crash", f"exit status {self.process.exitcode}")
        return found

    def close(self) -> None:
        if self.process is not None:
            self.pipe.send(None)
            self.process.join()
