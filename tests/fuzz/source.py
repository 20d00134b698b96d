"""A Program as text: a Numba CUDA kernel, and the same statements as a Python generator for the oracle.

Both get the names that the statements use from small headers; a collective ``v = cuda.ballot_sync(FULL, p)`` becomes
``v = yield ('ballot_sync', 7, FULL, p)`` for the oracle, 7 being its place in the program.
"""
from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable

import numpy as np

from tests.fuzz.oracle import BLOCK_ANSWERS, WARP_ANSWERS
from tests.fuzz.tree import Program, render

SHARED_ELEMENTS = 256           # the largest block
COLLECTIVE = re.compile(rf"^( *)((?:\w+ = )?)cuda\.({'|'.join([*BLOCK_ANSWERS, *WARP_ANSWERS])})\((.*)\)$")


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
    """A kernel argument: one element type and shape; ``fill`` makes the content for N threads."""

    dtype: str
    fill: Callable[[np.random.Generator, int], np.ndarray]
    result: bool = False


def whole(low: int, high: int, *shape: int) -> Callable:
    return lambda rng, threads: rng.integers(low, high, shape)


def constant(value: int, per_thread: int = 0, count: int = 16) -> Callable:
    return lambda rng, threads: np.full(per_thread * threads or count, value)


ARRAYS = {
    "tb": Array("int64", whole(-(1 << 62), 1 << 62, 64)), "tw": Array("int32", whole(-(1 << 31), 1 << 31, 64)),
    "th": Array("int16", whole(-(1 << 15), 1 << 15, 64)), "tc": Array("uint8", whole(0, 256, 64)),
    "tf": Array("float32", whole(-50, 50, 64)), "td": Array("float64", whole(-50, 50, 64)),
    "tm": Array("int32", whole(-1000, 1000, 8, 16)),
    "ha": Array("int32", constant(0), True), "hm": Array("int32", constant(-(1 << 31)), True),
    "hn": Array("int32", constant((1 << 31) - 1), True), "hx": Array("int32", constant(0), True),
    "ho": Array("int32", constant(0), True), "hl": Array("int32", constant(0), True), "lk": Array("int32", constant(0), True),
    "hd": Array("float64", constant(0), True),
    "g": Array("int32", constant(5, 4), True), "oi": Array("int64", constant(-7, 1), True),
    "oy": Array("int32", constant(-7, 1), True), "of": Array("float32", constant(-7, 1), True),
    "od": Array("float64", constant(-7, 1), True),
}
CONSTANTS = np.arange(32, dtype=np.int32) * 2654435 % 1000 - 500       # ct, in constant memory
SCALARS = {"n": "int64", "m": "int32"}

# Names in the order of their definitions: name -> (kernel's line, oracle's line).
PLACE = ("tx", "ty", "tz", "bx", "by", "width", "height", "depth", "columns", "rows")
KERNEL_PLACE = ("threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockDim.x", "blockDim.y",
                "blockDim.z", "gridDim.x", "gridDim.y")
HEADERS = {
    **{name: (f"{name} = cuda.{kernel}", "") for name, kernel in zip(PLACE, KERNEL_PLACE, strict=True)},
    "tid": ("tid = tx + width * (ty + height * tz)",) * 2,
    "nt": ("nt = width * height * depth",) * 2,
    "lane": ("lane = tid & 31",) * 2,
    "i": ("i = tid + width * height * depth * (bx + columns * by)",) * 2,
    "sh": (f"sh = cuda.shared.array({SHARED_ELEMENTS}, i32)", ""),
    "sh[tid]": ("sh[tid] = i32(tid * 3)",) * 2,
    "pv": (f"pv = cuda.shared.array({SHARED_ELEMENTS}, i32)", ""),
    "pv[tid]": ("pv[tid] = i32(tid + 9)",) * 2,
    "la": ("la = cuda.local.array(8, i32)", "la = [None] * 8"),
    "ct": ("ct = cuda.const.array_like(CONSTANTS)", "ct = CONSTANTS"),
}


def used(name: str, text: str) -> bool:
    return re.search(rf"\b{name.split('[')[0]}\b", text) is not None


def headers(text: str, side: int) -> str:
    """The definitions that a text needs, in front of it."""
    for name, lines in reversed(HEADERS.items()):
        if used(name, text):
            text = lines[side] + "\n" + text
    return text


def arguments(program: Program) -> list[str]:
    """Names of the kernel's arguments: those that the program uses."""
    text = headers("\n".join(render(program.body)), 0)
    return [name for name in (*SCALARS, *ARRAYS) if used(name, text)]


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines() if line)


def kernel_source(program: Program) -> str:
    body = headers("\n".join(render(program.body)), 0)
    return f"def kernel({', '.join(arguments(program))}):\n{indented(body)}"


def oracle_source(program: Program) -> str:
    sites = itertools.count(1)

    def translated(line: str) -> str:
        found = COLLECTIVE.match(line)
        if not found:
            return line
        indent, target, name, operands = found.groups()
        return f"{indent}{target}yield ({', '.join([repr(name), str(next(sites)), *([operands] if operands else [])])})"

    body = headers("\n".join(map(translated, render(program.body))), 1)
    start = f"{', '.join(PLACE)} = place\nif False:\n    yield\n"
    return f"def thread(place, sh, pv, {', '.join(arguments(program))}):\n{indented(start + body)}"
