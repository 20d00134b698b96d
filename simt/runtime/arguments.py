"""Which array argument an address belongs to: Numba's array descriptors read back from a parameter block.

Numba passes an array as separate parameters: two object pointers (zero on a device), item count, item size, data pointer,
then the extent and the stride of each axis (numba-cuda, ``ArrayModel``). Nothing else in the block looks like that.
"""
from __future__ import annotations

import ast
import dataclasses
import functools
import math
from pathlib import Path

MAX_AXES = 8
HEAD = 5                    # descriptor fields before the extents


@dataclasses.dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array that a kernel received. ``position``: of the argument, from 0; strides in bytes."""

    position: int
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
    found, place, position = [], 0, 0
    while place < len(values):
        described = descriptor(values, place)
        if described is None:
            place += 1
        else:
            axes, data = len(described[0]), values[place + 4]
            name = names[position] if position < len(names) else f"argument {position}"
            found.append(ArrayArgument(position, name, data, values[place + 3], *described))
            place += HEAD + 2 * axes
        position += 1
    return found


def descriptor(values: list[int], place: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(shape, strides) of an array descriptor that begins at a parameter, or None."""
    if place + HEAD + 2 > len(values) or values[place] or values[place + 1]:
        return None
    count, size = values[place + 2], values[place + 3]
    if not 0 < size <= 1 << 16 or count >= 1 << 48:
        return None
    for axes in range(1, MAX_AXES + 1):
        start = place + HEAD
        shape, strides = tuple(values[start:start + axes]), tuple(values[start + axes:start + 2 * axes])
        if len(strides) < axes:
            return None
        if math.prod(shape) == count and all(s < 1 << 48 for s in strides) and plausible(shape, strides, size):
            return shape, strides
    return None


def plausible(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    """Strides of a real array: some axis steps from item to item, or every axis that has a step skips whole items."""
    return all(s % size == 0 or n <= 1 for n, s in zip(shape, strides, strict=True)) or len(shape) == 1


@functools.lru_cache(maxsize=64)
def argument_names(path: str, line: int) -> tuple[str, ...]:
    """Parameter names of the innermost function around a line of a Python file; empty where the file cannot be read."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ()
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.lineno <= line <= node.end_lineno]
    if not around:
        return ()
    innermost = max(around, key=lambda node: node.lineno)
    return tuple(argument.arg for argument in innermost.args.args)


@functools.lru_cache(maxsize=64)
def source_line(path: str, line: int) -> str:
    """The text of a line, stripped; empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()[line - 1].strip()
    except (OSError, ValueError, IndexError):
        return ""
