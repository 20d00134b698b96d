"""Native functions that every kernel shares, written in LLVM IR in the folder ``native``.

They live in a module of their own, compiled once per process; kernels refer to them by name. Lines of the .ll files that
begin with @ are macros: fields of the context are named, not numbered.
"""
from __future__ import annotations

from pathlib import Path

from simt.jit.context import INDEX

FOLDER = Path(__file__).parent / "native"
FILES = ("access.ll", "standby.ll", "count.ll", "traffic.ll")
SITE = ("index", "element", "elements", "space", "action", "group", "low", "extent")    # fields of a row of @sites
SIGNATURES = {
    "simt_access": "declare i32 @simt_access(ptr, ptr, ptr, i32, i32, ptr, ptr)",
    "simt_access_shaped": "declare i32 @simt_access_shaped(ptr, ptr, ptr, i32, i32, i64, i64, i64, ptr, ptr, ptr)",
    "simt_access_kept": "declare i32 @simt_access_kept"
                        "(ptr, ptr, ptr, ptr, i64, i32, i32, i64, i64, ptr, ptr, ptr, i64, i64)",
    "simt_count_global": "declare void @simt_count_global(ptr, ptr, i32, i64)",
    "simt_count_shared": "declare void @simt_count_shared(ptr, ptr, i32, i64)",
    "simt_count_atomic": "declare void @simt_count_atomic(ptr, ptr, i32, ptr, i1)",
    "simt_new_sectors": "declare i32 @simt_new_sectors(ptr, ptr, i32, i64)",
}
FROM_PYTHON = {                     # simt/jit/hostcalls.py
    "simt_print": "declare i32 @simt_print(i64, i64)",
    "simt_malloc": "declare i64 @simt_malloc(i64)",
    "simt_free": "declare i32 @simt_free(i64)",
}


def module_text() -> str:
    """All shared functions as one LLVM module."""
    lines = [line for name in FILES for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return "\n".join(expand(line) for line in lines)


def expand(line: str) -> str:
    words = line.split()
    if not words or not words[0].startswith("@"):
        return line
    return "\n".join(MACROS[words[0]](*words[1:]))


def load(register: str, name: str, kind: str) -> list[str]:
    """Read a field of the context."""
    return [f"  {register}.at = getelementptr i64, ptr %context, i64 {INDEX[name]}",
            f"  {register} = load {kind}, ptr {register}.at"]


def put(name: str, value: str) -> list[str]:
    """Write a field of the context."""
    return [f"  %put.{name} = getelementptr i64, ptr %context, i64 {INDEX[name]}", f"  store i64 {value}, ptr %put.{name}"]


def bump(slot: str, value: str) -> list[str]:
    """Add to a counter."""
    return [f"  %at{slot} = getelementptr i64, ptr %slots, i64 {slot}", f"  %old{slot} = load i64, ptr %at{slot}",
            f"  %new{slot} = add i64 %old{slot}, {value}", f"  store i64 %new{slot}, ptr %at{slot}"]


def site() -> list[str]:
    """Read all fields of a site."""
    return [line for k, name in enumerate(SITE) for line in (
        f"  %site.{name}.at = getelementptr i64, ptr %site, i64 {k}", f"  %site.{name} = load i64, ptr %site.{name}.at")]


def move(bits: str) -> list[str]:
    """Copy one element of so many bits between memory (%there) and the exchange buffer."""
    return [f"move{bits}:", f"  %slot{bits} = getelementptr i{bits}, ptr %exchange, i64 %slot",
            f"  br i1 %storing, label %out{bits}, label %in{bits}",
            f"in{bits}:", f"  %value{bits} = load i{bits}, ptr %there, align 1",
            f"  store i{bits} %value{bits}, ptr %slot{bits}", "  br label %moved",
            f"out{bits}:", f"  %kept{bits} = load i{bits}, ptr %slot{bits}",
            f"  store i{bits} %kept{bits}, ptr %there, align 1", "  br label %moved"]


MACROS = {"@load": load, "@put": put, "@bump": bump, "@site": site, "@move": move}
