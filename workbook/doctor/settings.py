"""Environment variables, CUDA's and ours, and the cache of compiled kernels."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from workbook.doctor.finding import Finding, Findings, note, ok, one_line, problem
from workbook.doctor.machine import Machine
from workbook.units import count

TOOLKIT_FOLDERS = ("CUDA_PATH", "CUDA_HOME")  # in the order in which cuda.pathfinder asks them
PATHS = (*TOOLKIT_FOLDERS, "NUMBA_CUDA_DRIVER", "NUMBA_CUDA_INCLUDE_PATH", "NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS")
# Read by older Numbas only; numba-cuda finds its toolkit and its driver without them.
WITHOUT_EFFECT = (
    "NUMBAPRO_NVVM",
    "NUMBAPRO_LIBDEVICE",
    "NUMBAPRO_CUDALIB",
    "NUMBA_CUDA_DRIVER",
    "NUMBA_CUDA_USE_NVIDIA_BINDING",
    "NUMBA_CUDA_ENABLE_PYNVJITLINK",
    "NUMBA_CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY",
)
SWITCHES = {
    "NUMBA_ENABLE_CUDASIM": "replaces numba.cuda by Numba's simulator, which compiles nothing",
    "NUMBA_DISABLE_CUDA": "switches numba.cuda off",
}
SOURCES = {"site-packages": "the pip packages", "conda": "conda", "system-search": "the system"}


def variables(machine: Machine) -> Findings:
    """CUDA variables that are stale or in the way, and which toolkit won."""
    environ = machine.environ
    stale = {name: path for name in PATHS for path in _entries(environ, name) if not Path(path).exists()}
    for name, path in stale.items():
        yield problem(f"{name}={environ[name]}: there is no {path}", f"unset {name}", variable=name)
    for name, effect in SWITCHES.items():
        if environ.get(name, "0").strip() not in ("", "0"):
            yield problem(f"{name}={environ[name]} {effect}", f"unset {name}", variable=name)
    if unread := [name for name in WITHOUT_EFFECT if environ.get(name) and name not in stale]:
        yield note(f"without effect on numba-cuda: {', '.join(unread)}", f"unset {' '.join(unread)}", variables=unread)
    if gone := [entry for entry in _entries(environ, "LD_LIBRARY_PATH") if not Path(entry).is_dir()]:
        text = f"LD_LIBRARY_PATH names folders that do not exist: {', '.join(gone)}"
        yield note(text, "harmless; take them out of LD_LIBRARY_PATH", folders=gone)
    yield _winner(machine)


def _entries(environ: Mapping[str, str], name: str) -> list[str]:
    return [entry for entry in environ.get(name, "").split(os.pathsep) if entry]


def _winner(machine: Machine) -> Finding:
    """Where the compiler was taken from, and which variables had no say in it."""
    chosen = [name for name in TOOLKIT_FOLDERS if machine.environ.get(name)]
    others = sorted(name for name in machine.environ if name.startswith(("NUMBA_CUDA_", "NUMBA_FORCE_CUDA", *SWITCHES)))
    facts = {"set": {name: machine.environ[name] for name in [*chosen, *others]}}
    said = f"set: {', '.join(facts['set'])}" if facts["set"] else "none set"
    by, path = machine.trial.get("toolkit", {}).get("nvvm", ("", ""))
    if not by:
        return ok(said, **facts)
    facts |= {"won": by, "nvvm": path}
    # Pathfinder says CUDA_PATH for both variables.
    source = chosen[0] if by == "CUDA_PATH" and chosen else SOURCES.get(by, by)
    lost = [name for name in chosen if name != source]
    won = f"{source} won over {' and '.join(lost)}" if lost else f"the compiler comes from {source}"
    return ok(f"{said}; {won}: {path}", **facts)


def _mode(value: str) -> None:
    from simt.driver.enable import MODES

    if value not in MODES:
        raise ValueError(f"SIMT={value}: the modes are {', '.join(MODES)}")


def _device(value: str) -> None:
    from simt.model.device import load

    load(value)


def _threads(value: str) -> None:
    from simt.runtime.run import thread_count

    thread_count()


def _schedule(value: str) -> None:
    from simt.runtime.schedule import chosen

    chosen()


def _watchdog(value: str) -> None:
    from simt.runtime.watch import limit_s

    limit_s()


def _switch(name: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        from simt.jit.switches import OFF

        if value.lower() not in (*OFF, "on", "1", "yes"):
            raise ValueError(f"{name}={value}: it is on or off, and this counts as on")

    return check


def _anything(value: str) -> None:
    pass


# What raises ValueError for a bad value, read from the process's own environment where simt does so itself.
SETTINGS: dict[str, Callable[[str], None]] = {
    "SIMT": _mode,
    "SIMT_DEVICE": _device,
    "SIMT_THREADS": _threads,
    "SIMT_SCHEDULE": _schedule,
    "SIMT_WATCHDOG_S": _watchdog,
    "SIMT_QUIET": _anything,
    "SIMT_CACHE": _switch("SIMT_CACHE"),
    "SIMT_CACHE_DIR": _anything,
    "SIMT_OPTIMISE": _switch("SIMT_OPTIMISE"),
}


def settings(machine: Machine) -> Findings:
    """SIMT variables: names that exist, and values that simt takes."""
    ours = {name: value for name, value in machine.environ.items() if name == "SIMT" or name.startswith("SIMT_")}
    right = []
    for name, value in ours.items():
        if name not in SETTINGS:
            near = difflib.get_close_matches(name, SETTINGS, n=1)
            text = f"{name} is no setting" + (f"; did you mean {near[0]}?" if near else "")
            yield problem(text, f"unset {name}", variable=name)
        elif message := _refused(name, value):
            yield problem(message, f"set it right, or unset {name}", variable=name)
        else:
            right.append(f"{name}={value}")
    if len(right) == len(ours):
        yield ok(", ".join(right) or "no SIMT variable is set", set=ours)


def _refused(name: str, value: str) -> str:
    try:
        if value:
            SETTINGS[name](value)
    except ValueError as error:
        return str(error)
    except ImportError as error:
        return f"{name}={value} could not be checked: {one_line(error)}"
    return ""


def cache(machine: Machine) -> Findings:
    """The folder of compiled kernels: there, private, and how full."""
    from simt.jit import cache as kernels
    from simt.jit.switches import OFF

    folder = kernels.folder()
    if folder is None and machine.environ.get("SIMT_CACHE", "").lower() in OFF:
        yield note("off: every process compiles its kernels anew", "unset SIMT_CACHE", folder=None)
        return
    for rejected in kernels.candidates():
        if rejected == folder:
            break
        if folder is None:
            yield problem(_why_not(rejected), f"chmod 700 {rejected}, or set SIMT_CACHE_DIR to a folder of your own")
        else:
            text = f"{_why_not(rejected)}: {folder} serves instead"
            yield note(text, f"chmod 700 {rejected}", rejected=str(rejected))
    if folder is not None:
        sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()]
        text = f"{folder}: {count(sum(sizes))}B in {len(sizes)} file{'s' * (len(sizes) != 1)}, private"
        yield ok(text, folder=str(folder), bytes=sum(sizes), entries=len(sizes), limit_bytes=kernels.LIMIT_BYTES)


def _why_not(folder: Path) -> str:
    try:
        facts = folder.lstat()
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    if not stat.S_ISDIR(facts.st_mode):
        return f"{folder} is no folder"
    if facts.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if facts.st_mode & 0o022:
        return f"{folder} can be written by others (mode {stat.S_IMODE(facts.st_mode):o})"
    return f"{folder} cannot be written"
