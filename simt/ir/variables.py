"""Where a kernel's variables lie: offsets in shared, local and parameter space, and the order of global symbols."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from simt.ptx.statements import Function, Module, Variable

SMALLEST_FRAME_BYTES = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """All offsets, sizes and alignments in bytes. ``dynamic_offset`` is where dynamic shared memory begins."""

    shared: dict[str, int]
    shared_align: int
    static_shared_bytes: int
    dynamic_offset: int
    local: dict[str, int]
    local_align: int
    local_bytes: int
    params: dict[str, int]
    param_bytes: int
    globals: tuple[str, ...]


def place(variables: Iterable[Variable], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets in declaration order, each at its alignment; and the end."""
    offsets, end = {}, start
    for variable in variables:
        end = rounded_up(end, variable.align)
        offsets[variable.name] = end
        end += variable.size_bytes
    return offsets, end


def layout(module: Module, function: Function) -> Layout:
    """Static shared memory first, then the dynamic part (every extern shared array is the same bytes)."""
    known = {**module.variables, **{v.name: v for v in function.variables}}
    shared = [v for v in known.values() if v.space == "shared"]
    offsets, end = place(v for v in shared if v.size_bytes)
    dynamic = [v for v in shared if not v.size_bytes]
    start = rounded_up(end, largest_align(dynamic))
    offsets.update({v.name: start for v in dynamic})
    own = [v for v in known.values() if v.space == "local"]
    local, local_end = place(own)
    local_align = max(largest_align(own), SMALLEST_FRAME_BYTES)
    params, param_end = place(function.params)
    symbols = tuple(sorted(v.name for v in module.variables.values() if v.space in ("global", "const")))
    return Layout(offsets, largest_align(shared), end, start, local, local_align, rounded_up(local_end, local_align), params,
                  param_end, symbols)


def largest_align(variables: list[Variable]) -> int:
    return max((v.align for v in variables), default=1)


def rounded_up(size: int, step: int) -> int:
    return -(-size // step) * step
