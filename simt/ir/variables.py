"""Where a kernel's variables lie: offsets in shared, local and parameter space, and the order of global symbols."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from simt.ptx.statements import Function, Module, Variable


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """All offsets and sizes in bytes. ``dynamic_offset`` is where dynamic shared memory begins."""

    shared: dict[str, int]
    static_shared_bytes: int
    dynamic_offset: int
    local: dict[str, int]
    local_bytes: int
    params: dict[str, int]
    param_bytes: int
    globals: tuple[str, ...]


def place(variables: Iterable[Variable], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets in declaration order, each at its alignment; and the end."""
    offsets, end = {}, start
    for variable in variables:
        end = -(-end // variable.align) * variable.align
        offsets[variable.name] = end
        end += variable.size_bytes
    return offsets, end


def layout(module: Module, function: Function) -> Layout:
    """Static shared memory first, then the dynamic part (every extern shared array is the same bytes)."""
    known = {**module.variables, **{v.name: v for v in function.variables}}
    shared = [v for v in known.values() if v.space == "shared"]
    offsets, end = place(v for v in shared if v.size_bytes)
    dynamic = [v for v in shared if not v.size_bytes]
    start = -(-end // max([v.align for v in dynamic], default=1)) * max([v.align for v in dynamic], default=1)
    offsets.update({v.name: start for v in dynamic})
    local, local_end = place(v for v in known.values() if v.space == "local")
    frame = -(-local_end // 16) * 16
    params, param_end = place(function.params)
    symbols = tuple(sorted(v.name for v in module.variables.values() if v.space in ("global", "const")))
    return Layout(offsets, end, start, local, frame, params, param_end, symbols)
