"""Runs what is to be profiled on the emulated device: a step of a ladder, or any program as `python FILE` would run it."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import runpy
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from kernels.case import Case
    from kernels.ladder import Step
    from simt.observe.profile import LaunchProfile
    from simt.report.subject import Place

OURS = ("kernels", "workbook")


def run_step(step: Step, case: Case, seed: int) -> None:
    """Launch the step once on inputs from that seed."""
    import numpy as np

    from kernels.ladder import load_ladder
    from workbook import buffers

    ladder = load_ladder(step.ladder)
    step.run(buffers.fresh(ladder, step, case, ladder.make(case, np.random.default_rng(seed))))


def run_program(path: Path, arguments: Sequence[str]) -> int:
    """Run a file as `__main__` with these arguments, in this process. Returns its exit code.

    An exception that it does not catch is shown with its own traceback, as Python does. Raises KeyboardInterrupt.
    """
    with _as_main(path, arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as stop:
            return _exit_code(stop.code)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            own = _own_part(error.__traceback__, str(path))
            sys.excepthook(type(error), error.with_traceback(own), own)
            return 1
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
    return 0


@contextlib.contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Arguments and import path of the program; modules of its own come before ours of the same name."""
    folder = path.resolve().parent
    argv, search = sys.argv, list(sys.path)
    shadowed = [name for name in OURS if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()]
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in shadowed}
    for name in hidden:
        del sys.modules[name]
    sys.argv, sys.path[:] = [str(path), *arguments], [str(folder), *search]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, search
        for name in [name for name in sys.modules if name.partition(".")[0] in shadowed]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _exit_code(code: object) -> int:
    """What Python makes of the argument of sys.exit."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _own_part(trace: TracebackType | None, path: str) -> TracebackType | None:
    """The traceback from the program's own first line on; None for an error before that, such as one of its syntax."""
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    return trace


@contextlib.contextmanager
def numba_warnings() -> Iterator[list[str]]:
    """Performance warnings of numba go into the list, each once, without those that the report itself tells better."""
    kept: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
        if category.__name__ != "NumbaPerformanceWarning":              # numba and numba-cuda each have one
            before(message, category, *where, **options)
            return
        text = " ".join(str(message).split()).rstrip(".")
        if "under-utilization" not in text and text not in kept:        # of a small grid there is advice
            kept.append(text)

    warnings.showwarning = show
    try:
        yield kept
    finally:
        warnings.showwarning = before


def obstacle(folder: Path, must_exist: bool) -> str:
    """Why no file can be written in this folder, or the folder not be made; "" where nothing is known to prevent it."""
    if must_exist and not folder.exists():
        return f"there is no folder {folder}"
    near = folder
    while not near.exists() and near != near.parent:
        near = near.parent
    if not near.is_dir():
        return f"{near} is a file"
    return "" if os.access(near, os.W_OK | os.X_OK) else f"the folder {near} may not be written"


def definition(kernel: str, launch: LaunchProfile) -> Place | None:
    """(file, line) of the kernel's `def`: a decorator stands above it. Its first line with code where no file defines it."""
    for file in sorted({file for file, _ in launch.lines}):
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except SyntaxError:
            continue
        found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == kernel]
        if found:
            return file, found[-1]
    return min(launch.lines, default=None)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """What Python code and subprocesses print inside goes to stderr, so that stdout holds one document only."""
    sys.stdout.flush()
    try:
        number = sys.stdout.fileno()
    except (OSError, AttributeError, ValueError):        # replaced by something without a file, as in tests
        number = None
    kept = None if number is None else os.dup(number)
    if number is not None:
        os.dup2(sys.stderr.fileno(), number)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if number is not None and kept is not None:
            os.dup2(kept, number)
            os.close(kept)
