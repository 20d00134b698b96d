"""From Python exceptions to CUDA error numbers and back to the reader: the only place where one becomes the other.

A driver function fails by raising. The number goes to the caller through the C interface; the explanation cannot, so it
waits here for the exception that cuda.core or numba makes of the number (``patches.explain``).
"""
from __future__ import annotations

import sys
import threading
import traceback

from simt.runtime import memory

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
INVALID_DEVICE = 101
INVALID_IMAGE = 200
INVALID_CONTEXT = 201
PEER_ACCESS_UNSUPPORTED = 217
INVALID_PTX = 218
INVALID_HANDLE = 400
NOT_FOUND = 500
LAUNCH_OUT_OF_RESOURCES = 701
HOST_MEMORY_ALREADY_REGISTERED = 712
HOST_MEMORY_NOT_REGISTERED = 713
COOPERATIVE_LAUNCH_TOO_LARGE = 720
NOT_SUPPORTED = 801
UNKNOWN = 999

_ALLOCATION_CODES = {
    memory.OutOfMemory: OUT_OF_MEMORY,
    memory.AlreadyRegistered: HOST_MEMORY_ALREADY_REGISTERED,
    memory.NotRegistered: HOST_MEMORY_NOT_REGISTERED,
}
_TRACEBACK_FRAMES = 3
_STICKY = frozenset(range(700, 720))
_GOES_ON = "(a GPU's process is lost after this error; on the emulated device the next launch works)"


class DriverError(Exception):
    """A driver call cannot do what was asked: a CUDA error number and, where it helps, an explanation."""

    def __init__(self, code: int, note: str = "") -> None:
        super().__init__(code, note)
        self.code = code
        self.note = note


class _Pending(threading.local):
    """What this thread's last failed driver call left for the exception that the caller will make of it."""

    note: str = ""
    interrupt: BaseException | None = None


_pending = _Pending()


def record(error: BaseException, function: str) -> int:
    """The CUDA error number for an exception out of a driver function; keeps its explanation for ``explain``."""
    code, _pending.note = _describe(error, function)
    _pending.interrupt = None if isinstance(error, Exception) else error
    return code


def take_note() -> str:
    """The explanation of this thread's last failed driver call, once."""
    note, _pending.note = _pending.note, ""
    return note


def take_interrupt() -> BaseException | None:
    """KeyboardInterrupt or the like that ended this thread's last failed driver call, once."""
    interrupt, _pending.interrupt = _pending.interrupt, None
    return interrupt


def _describe(error: BaseException, function: str) -> tuple[int, str]:
    if isinstance(error, DriverError):
        return error.code, error.note
    if isinstance(error, memory.AllocationError):
        return _ALLOCATION_CODES.get(type(error), INVALID_VALUE), str(error)
    if code := _runtime_code(error):
        note = getattr(error, "note", "") or str(error)
        return code, f"{note}\n{_GOES_ON}" if code in _STICKY else note
    if isinstance(error, Exception):
        return UNKNOWN, _bug_report(error, function)
    return UNKNOWN, f"{function} was interrupted by {type(error).__name__}"


def _runtime_code(error: BaseException) -> int:
    """Number of an error that the PTX parser, the compiler or a running kernel raised; 0 for any other.

    Looked up among the loaded modules: the runtime is imported with the first kernel, and cannot raise before.
    """
    for module, name, code in (
        ("simt.runtime.faults", "Fault", None),
        ("simt.runtime.faults", "WrongSetting", INVALID_VALUE),
        ("simt.isa.table", "Unsupported", NOT_SUPPORTED),
        ("simt.ptx.lexer", "PtxError", INVALID_PTX),
    ):
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return code or error.code
    return 0


def _bug_report(error: Exception, function: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-_TRACEBACK_FRAMES:]
    where = "".join(f"\n  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames)
    what = "".join(traceback.format_exception_only(error)).strip()
    return f"a bug in the emulated device, not in your program: {function} raised {what}{where}"
