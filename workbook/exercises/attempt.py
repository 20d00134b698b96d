"""A reader's file as a module: imported with a clear line for all that can go wrong, run as a step is, launches counted."""

from __future__ import annotations

import bisect
import contextlib
import importlib.machinery
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.broken import message
from kernels.case import Case, Layout
from kernels.ladder import UnknownName
from workbook import failure
from workbook.exercises import explain, regular
from workbook.exercises.result import Trouble
from workbook.exercises.stubs import relative

MODULE = "exercise_being_checked"


class Stop(Exception):
    """What ends a check: the trouble to show."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.title)
        self.trouble = trouble


class HostRead(RuntimeError):  # explain.py knows it by its name
    """`run` fetched device memory, to compute on the CPU what a kernel should."""


class Ended(RuntimeError):  # explain.py knows it by its name
    """The file called sys.exit() or the like."""


class Buffers(dict[str, Any]):
    """The device arrays of a run; asking for one that is not there names those that are."""

    def __missing__(self, name: str) -> Any:
        raise UnknownName("buffer", str(name), list(self))


class Attempt:
    """The file at `path`. `own`: the files whose kernels count as written here; the first holds the reader's lines.

    launched: how many launches of such kernels there were
    """

    def __init__(self, name: str, path: Path, own: tuple[Path, ...]) -> None:
        self.id = name
        self.path = own[0]
        self.own = {str(file) for file in own}
        self.launched = 0
        self.module = _imported(path)
        self._run = _function(self.module, path)

    def run(self, buffers: Mapping[str, Any], stream: Any = 0) -> None:
        with _no_reading(), _no_exit():
            self._run(Buffers(buffers), stream)

    def scratch(self, case: Case, inputs: Mapping[str, Any]) -> Layout:
        with _no_exit():
            return self.module.scratch(case, inputs) if hasattr(self.module, "scratch") else {}

    def optimised(self) -> dict[str, str]:
        """{kernel: PTX as it would be with optimisation} of those that ran and were compiled without, by opt=False."""
        from numba import cuda
        from numba.cuda.dispatcher import CUDADispatcher

        kernels = [value for value in vars(self.module).values() if isinstance(value, CUDADispatcher)]
        return {
            compiled.entry_name: cuda.compile_ptx(kernel.py_func, signature, lineinfo=True)[0]
            for kernel in kernels
            if not kernel.targetoptions.get("opt", True)
            for signature, compiled in kernel.overloads.items()
        }

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count launches of own kernels inside."""
        from numba.cuda.dispatcher import CUDADispatcher

        plain = CUDADispatcher.call

        def counted(dispatcher: Any, *args: Any, **options: Any) -> Any:
            self.launched += dispatcher.py_func.__code__.co_filename in self.own
            return plain(dispatcher, *args, **options)

        CUDADispatcher.call = counted
        try:
            yield
        finally:
            CUDADispatcher.call = plain


def _imported(path: Path) -> ModuleType:
    """The module of the file. Raises Stop."""
    try:
        source = regular.read(path)
        explain.remember(path, source)
        code = compile(source, str(path), "exec")
    except (RecursionError, MemoryError):
        raise Stop(_too_deep(source, path)) from None
    except (SyntaxError, ValueError, OSError) as error:
        raise Stop(_unreadable(error, path)) from None
    loader = importlib.machinery.SourceFileLoader(MODULE, str(path))  # of any suffix, a backup's too
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    if spec is None or spec.loader is None:
        raise Stop(Trouble("error", "the file cannot be imported", (str(path),)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    sys.dont_write_bytecode = True
    try:
        with _no_exit():
            exec(code, vars(module))  # what was compiled above: the file may have been saved since
    except ImportError as error:
        raise Stop(explain.told(failure.broken(error, "importing the file", str(path)), path, "import")) from None
    except Exception as error:
        raise Stop(explain.told(failure.broken(error, "importing the file", str(path)), path)) from None
    return module


def _unreadable(error: Exception, path: Path) -> Trouble:
    if isinstance(error, SyntaxError):
        lines = [explain.located(path, error.lineno)]
        if error.text and error.offset:
            text = error.text.rstrip("\n")
            blank = len(text) - len(text.lstrip())
            lines += [f"  {text.strip()}", f"  {' ' * max(error.offset - 1 - blank, 0)}^"]
        title = f"the file is no valid Python: {error.msg}"
        return Trouble("syntax", title, tuple(lines), error.lineno)
    if isinstance(error, OSError):
        return explain.closed(path, error)
    return Trouble("syntax", f"{relative(path)} is no text in UTF-8: {error}", ("save it as UTF-8 text",))


def _too_deep(source: str, path: Path) -> Trouble:
    """Python does not say where an expression is nested too deeply: it is on the first line with which the file is."""
    lines = source.split("\n")
    line = bisect.bisect_left(range(1, len(lines)), True, key=lambda number: _is_too_deep("\n".join(lines[:number]))) + 1
    title = "the file is nested too deeply for Python to compile it"
    return Trouble("syntax", title, (explain.located(path, line), "write it as several statements"), line)


def _is_too_deep(source: str) -> bool:
    try:
        compile(source, "", "exec")
    except (RecursionError, MemoryError):
        return True
    except (SyntaxError, ValueError):
        return False
    return False


def _function(module: ModuleType, path: Path) -> Any:
    """The file's `run`. Raises Stop."""
    run = getattr(module, "run", None)
    if not callable(run):
        there = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == MODULE]
        said = f"has no function run(buffers, stream); it defines {', '.join(there) or 'nothing'}"
        raise Stop(Trouble("names", f"{relative(path)} {said}", ("the check calls run, which launches the kernel",)))
    try:
        inspect.signature(run).bind({}, 0)
    except TypeError:
        line = getattr(getattr(run, "__code__", None), "co_firstlineno", None)
        said = f"run takes {inspect.signature(run)}, and the check calls run(buffers, stream)"
        raise Stop(Trouble("names", said, (explain.located(path, line),), line)) from None
    return run


@contextlib.contextmanager
def _no_exit() -> Iterator[None]:
    """Inside, what would end the process is an error like any other."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        what = f"{type(error).__name__}({message(error)})"
        said = f"{what}: the check goes on after it, so nothing in the file may end the program"
        raise Ended(said).with_traceback(error.__traceback__) from None


@contextlib.contextmanager
def _no_reading() -> Iterator[None]:
    """Inside, device memory stays on the device."""
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import driver

    plain = driver.device_to_host

    def refuse(*args: Any, **options: Any) -> None:
        if any(frame.f_code.co_filename == dispatcher.__file__ for frame, _ in traceback.walk_stack(None)):
            plain(*args, **options)  # numba's launch brings back host arrays, and whether a kernel with debug=True raised
            return
        raise HostRead("run copies device memory to the host: the kernel has to do the work, on the device")

    driver.device_to_host = refuse
    try:
        yield
    finally:
        driver.device_to_host = plain
