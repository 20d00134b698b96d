"""Machine code kept on disk, so that a kernel compiles once per computer and not once per process.

The name of an entry is a hash of everything its code depends on: what the caller says (PTX, kernel, block shape, what is
counted), the text of the compiler in simt, LLVM's version, the processor and its features. An entry carries a checksum; a
damaged or foreign one is ignored and written again. The folder is private to the user, since what lies in it is executed.
SIMT_CACHE=off switches it off, SIMT_CACHE_DIR moves it.
"""
from __future__ import annotations

import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

from simt.jit.switches import is_off

MAGIC = b"simt object 3\n"
TRIM_SHARE = 2              # sixteenths of the entries that lead to a look at the folder's size
DIGEST_BYTES = 32
SIMT = Path(__file__).parents[1]
COMPILER = ("ptx", "ir", "isa", "jit", "observe")       # the parts of simt that code comes from
LIMIT_BYTES = 512 << 20         # the folder is trimmed to half of this once it grows beyond


def folder() -> Path | None:
    """The cache folder, made if missing; None where there is no private place to write, or the cache is off."""
    if is_off("SIMT_CACHE"):
        return None
    for candidate in candidates():
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if is_private(candidate):
            return candidate
    return None


def candidates() -> list[Path]:
    if chosen := os.environ.get("SIMT_CACHE_DIR"):
        return [Path(chosen)]
    home = os.environ.get("XDG_CACHE_HOME") or (Path(os.environ["HOME"]) / ".cache" if os.environ.get("HOME") else None)
    temporary = Path(tempfile.gettempdir()) / f"simt-cache-{os.getuid()}"
    return [Path(home) / "simt", temporary] if home else [temporary]


def is_private(path: Path) -> bool:
    """Ours, a real folder, writable by nobody else."""
    facts = path.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022 \
        and os.access(path, os.W_OK)


def name_of(key: str) -> str:
    return hashlib.sha256(f"{environment()}\n{key}".encode()).hexdigest() + ".o"


@functools.cache
def environment() -> str:
    """What code depends on besides the kernel."""
    whole = hashlib.sha256()
    for part in COMPILER:
        for path in sorted(path for path in (SIMT / part).rglob("*") if path.suffix in (".py", ".ll")):
            whole.update(path.read_bytes())
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return f"{whole.hexdigest()} {llvm.llvm_version_info} {processor}"


def load(key: str) -> bytes:
    """What is kept under this key; nothing if it is not there or damaged."""
    place = folder()
    if place is None:
        return b""
    name = name_of(key)
    try:
        raw = (place / name).read_bytes()
        os.utime(place / name)
    except OSError:
        return b""
    head, body = raw[:len(MAGIC) + DIGEST_BYTES], raw[len(MAGIC) + DIGEST_BYTES:]
    return body if head == MAGIC + digest(name, body) else b""


def save(key: str, content: bytes) -> None:
    """Keep a compiled kernel; a full or read-only disk is no error. The entry appears whole or not at all."""
    place, name = folder(), name_of(key)
    if place is None:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=place)
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + digest(name, content) + content)
        os.replace(temporary, place / name)
        if int(name[0], 16) < TRIM_SHARE:       # to look at every entry each time would take longer than to compile
            trim(place)
    except OSError:
        return


def digest(name: str, content: bytes) -> bytes:
    """Of an entry: a sound one under another's name is none."""
    return hashlib.sha256(name.encode() + content).digest()


def trim(place: Path) -> None:
    """Drop the entries used longest ago once the folder is too large."""
    entries = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(place) if entry.is_file()]
    total = sum(size for _, size, _ in entries)
    if total <= LIMIT_BYTES:
        return
    for _, size, path in sorted(entries):
        os.unlink(path)
        total -= size
        if total <= LIMIT_BYTES // 2:
            return
