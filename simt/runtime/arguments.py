"""Which array argument an address belongs to: Numba's array descriptors read back from a parameter block.

Numba passes an array as separate parameters: two object pointers (zero on a device), item count, item size, data pointer,
then the extent and the stride of each axis (numba-cuda, ``ArrayModel``). Nothing else in the block looks like that.
"""
from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import linecache
import math
from collections.abc import Iterator

MAX_AXES = 8
HEAD = 5                    # descriptor fields before the extents
READINGS = 64               # ways to read the parameters that are looked at
Described = tuple[tuple[int, ...], tuple[int, ...]]         # shape, strides


@dataclasses.dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array that a kernel received.

    position: of the argument, from 0;  data_parameter: the kernel's parameter that holds the address;  strides: in bytes
    """

    position: int
    data_parameter: int
    name: str
    address: int
    item_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def extent_bytes(self) -> int:
        """Bytes from the first to past the last element (strides are not negative)."""
        if 0 in self.shape:
            return 0
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.item_bytes

    def distance(self, address: int) -> int:
        return max(self.address - address, address - (self.address + self.extent_bytes) + 1, 0)

    @property
    def slowest_axis(self) -> int:
        """The axis with the widest stride: what lies outside the array is outside on this one."""
        return max(range(len(self.shape)), key=lambda axis: (self.strides[axis], -axis))

    def unit(self, axis: int) -> str:
        """What a step along an axis is called."""
        if len(self.shape) == 1:
            return "element"
        return ("row", "column")[axis] if len(self.shape) == 2 else f"plane of axis {axis}"

    def index(self, address: int) -> tuple[int, ...]:
        """The index whose element starts at or before an address; the first axis takes what lies outside."""
        rest, found = (address - self.address) // self.item_bytes * self.item_bytes, [0] * len(self.shape)
        order = sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis])
        for axis in order:
            stride = max(self.strides[axis], 1)
            found[axis], rest = divmod(rest, stride)
        return tuple(found)


def arrays(values: list[int], names: tuple[str, ...]) -> list[ArrayArgument]:
    """Array arguments among the parameters. values: every parameter as a 64-bit number; names: of the Python arguments."""
    return [ArrayArgument(position, place + 4, name_at(names, position), values[place + 4], values[place + 3], *described)
            for position, (place, described) in enumerate(likely_reading(values, names)) if described]


def argument_name(values: list[int], names: tuple[str, ...], parameter: int) -> str:
    """The argument that a parameter is, or is a part of."""
    starts = [place for place, _ in likely_reading(values, names)]
    return name_at(names, sum(start <= parameter for start in starts) - 1)


def name_at(names: tuple[str, ...], position: int) -> str:
    return names[position] if position < len(names) else f"argument {position}"


def likely_reading(values: list[int], names: tuple[str, ...]) -> list[tuple[int, Described | None]]:
    """A short run of numbers may be read as arrays of different rank: the reading with as many arguments as names wins."""
    found = list(itertools.islice(readings(values, 0), READINGS))
    return next((reading for reading in found if len(reading) == len(names)), found[0])


def readings(values: list[int], place: int) -> Iterator[list[tuple[int, Described | None]]]:
    """Ways to read the parameters from a place on: (place, array or None for a number) of each argument."""
    if place >= len(values):
        yield []
    for described in descriptors(values, place) or [None] * (place < len(values)):
        width = HEAD + 2 * len(described[0]) if described else 1
        for rest in readings(values, place + width):
            yield [(place, described), *rest]


def descriptors(values: list[int], place: int) -> list[Described]:
    """(shape, strides) of the array descriptors that may begin at a parameter, fewest axes first."""
    if place + HEAD + 2 > len(values) or values[place] or values[place + 1]:
        return []
    count, size = values[place + 2], values[place + 3]
    if not 0 < size <= 1 << 16 or count >= 1 << 48:
        return []
    found = []
    for axes in range(1, min(MAX_AXES, (len(values) - place - HEAD) // 2) + 1):
        start = place + HEAD
        shape, strides = tuple(values[start:start + axes]), tuple(values[start + axes:start + 2 * axes])
        if math.prod(shape) == count and all(s < 1 << 48 for s in strides) and plausible(shape, strides, size):
            found.append((shape, strides))
    return found


def plausible(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    """Strides of a real array: each axis that steps skips whole items, or at least one (a field of records)."""
    return all(s % size == 0 or n <= 1 for n, s in zip(shape, strides, strict=True)) or \
        (len(shape) == 1 and strides[0] >= size)


@functools.lru_cache(maxsize=64)
def argument_names(path: str, line: int) -> tuple[str, ...]:
    """Parameter names of the innermost function around a line of a Python file; empty where the file cannot be read."""
    try:
        tree = ast.parse("".join(source_lines(path)))
    except (SyntaxError, ValueError):
        return ()
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.lineno <= line <= node.end_lineno]
    if not around:
        return ()
    innermost = max(around, key=lambda node: node.lineno)
    return tuple(argument.arg for argument in innermost.args.args)


@functools.lru_cache(maxsize=64)
def source_line(path: str, line: int) -> str:
    """The text of a line, stripped; empty where it cannot be read."""
    lines = source_lines(path)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def source_lines(path: str) -> list[str]:
    """Of a file, or of a notebook's cell, which is in linecache only; none where it cannot be read."""
    linecache.checkcache(path)
    return linecache.getlines(path)
