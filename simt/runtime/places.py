"""Words for places: source lines, and threads of a launch."""
from __future__ import annotations

from simt.ir.known import thread_index
from simt.ir.shapes import WARP
from simt.ptx.statements import SourceLine
from simt.runtime.arguments import source_line
from simt.runtime.names import AXES


def where(node) -> str:
    """File, line and text of an instruction in the learner's program."""
    return told(node.source) if node.source is not None else f"PTX line {node.line} ({node.opcode})"


def told(place: SourceLine) -> str:
    """File, line and text."""
    text = source_line(place.file, place.line)
    return f"{place.file}:{place.line}" + (f": {text}" if text else "")


def in_program(node) -> SourceLine | None:
    """Where an instruction stands; if in a function of numba's own, such as grid.sync, where the program calls that."""
    places = [place for place in (node.source, *node.inlined) if place is not None]
    return next((place for place in places if not is_numbas(place.file)), node.source)


def is_numbas(file: str) -> bool:
    return "/numba/cuda/" in file and "/tests/" not in file


def calls_of(node) -> list[str]:
    """One line that names the callers of the device function an instruction stands in; none in the kernel itself."""
    callers = ", ".join(f"{place.file}:{place.line}" for place in node.inlined)
    return [f"called from {callers}"] if callers else []


def block_of(worker) -> tuple[int, ...]:
    return tuple(worker.field(f"ctaid_{axis}") for axis in AXES)


def thread_at(run, linear: int) -> tuple[int, ...]:
    """A thread's x, y, z in its block, from its number there."""
    return tuple(thread_index(run.block, axis, linear) for axis in AXES)


def thread_in_block(run, worker, lane: int) -> tuple[int, ...]:
    return thread_at(run, worker.field("fault_warp") * WARP + lane)


def place_in_grid(run, worker, lane: int) -> tuple[int, ...]:
    """The thread's x, y, z in the whole grid, as ``cuda.grid`` counts."""
    thread = thread_in_block(run, worker, lane)
    return tuple(b * n + t for b, n, t in zip(block_of(worker), run.block, thread, strict=True))


def thread_of(run, worker, lane: int) -> str:
    """Block, thread, and what ``cuda.grid`` says there."""
    place = place_in_grid(run, worker, lane)
    axes = max((k + 1 for k in range(3) if run.grid[k] * run.block[k] > 1), default=1)
    told = str(place[0]) if axes == 1 else str(place[:axes])
    return f"block {block_of(worker)}, thread {thread_in_block(run, worker, lane)}: cuda.grid({axes}) is {told}"
