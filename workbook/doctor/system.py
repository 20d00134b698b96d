"""Python, platform, disk."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from workbook.doctor.finding import Findings, ok, problem
from workbook.doctor.machine import Machine
from workbook.units import count

OLDEST, NEWEST = (3, 11), (3, 14)
MACHINES = ("x86_64", "aarch64")
FREE_BYTES = 500_000_000  # the kernel cache holds up to 268 MB; pictures and pip's temporary files come on top


def python(machine: Machine) -> Findings:
    version = ".".join(map(str, machine.python))
    needed = f"use CPython {'.'.join(map(str, OLDEST))} to {'.'.join(map(str, NEWEST))}"
    if machine.implementation != "CPython":
        yield problem(f"{machine.implementation} {version} is not CPython, which Numba needs", needed, version=version)
    elif not OLDEST <= machine.python[:2] <= NEWEST:
        yield problem(f"{version} is not supported", f"{needed}: uv python install 3.12", version=version)
    elif machine.free_threaded:
        yield problem(f"{version} is a free-threaded build", f"{needed} with the usual lock", version=version)
    else:
        yield ok(f"CPython {version}", version=version)


def platform(machine: Machine) -> Findings:
    system, processor, libc, _ = machine.platform
    name = f"{system} on {processor}" + (f", {libc}" if libc else "") + (", WSL" if machine.is_wsl else "")
    facts = {"system": system, "machine": processor, "libc": libc, "wsl": machine.is_wsl}
    elsewhere = "use a Linux container, WSL, Codespaces or Colab"
    if system != "Linux" or processor not in MACHINES:
        yield problem(f"{name} is not supported: the compiler or the device does not exist for it", elsewhere, **facts)
    elif libc != "glibc":
        yield problem(f"{name}: the packages need glibc", "use a Debian, Ubuntu or Fedora container", **facts)
    else:
        yield ok(name, **facts)


def disk(machine: Machine) -> Findings:
    """The least free of the places that are written to."""
    places = [machine.root, Path(tempfile.gettempdir()), *_cache_folder()]
    free = {place: shutil.disk_usage(_existing(place)).free for place in places}
    least = min(free, key=free.__getitem__)
    text = f"{count(free[least])}B free at {least}"
    if free[least] < FREE_BYTES:
        yield problem(text, f"free {count(FREE_BYTES)}B there", free_bytes=free[least], place=str(least))
    else:
        yield ok(text, free_bytes=free[least], place=str(least))


def _cache_folder() -> list[Path]:
    try:
        from simt.jit import cache
    except ImportError:  # the cache's own check says so
        return []
    return cache.candidates()[:1]


def _existing(place: Path) -> Path:
    return next(folder for folder in (place, *place.absolute().parents) if folder.exists())
