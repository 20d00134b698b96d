"""Everything the JIT needs to know of one kernel, specialised on its block shape."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from simt.ir.blocks import Graph, Node, build, is_meeting
from simt.ir.divergence import Shapes, analyse
from simt.ir.known import Known
from simt.ir.order import Order, linearise
from simt.ir.ranges import Ranges
from simt.ir.ssa import Values, convert
from simt.ir.waits import insert_waits, park_at_meetings, parted_meetings
from simt.ptx.statements import Function


@dataclasses.dataclass(slots=True, eq=False)
class Kernel:
    """A kernel in SSA blocks with the shapes of its values for one block shape (x, y, z in threads)."""

    graph: Graph
    order: Order
    values: Values
    known: Known
    ranges: Ranges
    shapes: Shapes
    block_shape: tuple[int, int, int]

    @property
    def name(self) -> str:
        return self.graph.function.name

    @property
    def threads(self) -> int:
        x, y, z = self.block_shape
        return x * y * z

    def register_type(self, name: str) -> str:
        return self.graph.register_type(name)


def analyse_kernel(function: Function, block_shape: tuple[int, int, int]) -> Kernel:
    """PTX function -> Kernel. Raises Unsupported with the PTX line for what has no row."""
    kernel, meetings = analyse_parking(function, block_shape)
    parted = parted_meetings(kernel.order.blocks, kernel.shapes.pending)
    if not parted:
        return kernel
    return analyse_parking(function, block_shape, [k for k, node in enumerate(meetings) if node in parted])[0]


def analyse_parking(function: Function, block_shape: tuple[int, int, int],
                    parked: Sequence[int] = ()) -> tuple[Kernel, list[Node]]:
    """The analysis, and the collectives in the order of the text. ``parked``: numbers of those where lanes wait for others."""
    graph = build(function)
    meetings = [node for block in graph.blocks for node in block.nodes if is_meeting(node)]
    order = linearise(graph)
    if insert_waits(graph, order) | park_at_meetings(graph, {meetings[k] for k in parked}):
        order = linearise(graph)
    values = convert(graph, order)
    known = Known(graph, order, block_shape)
    ranges = Ranges(graph, order, values, known)
    shapes = analyse(graph, order, values, ranges, known)
    return Kernel(graph, order, values, known, ranges, shapes, block_shape), meetings
