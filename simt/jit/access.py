"""What a memory instruction asks for, and which accesses of a block share one bounds check."""
from __future__ import annotations

import dataclasses
from typing import NamedTuple

from simt.ir.blocks import Node
from simt.ir.shapes import Shape
from simt.isa.table import Unsupported, bits_of
from simt.jit.builder import IR_TYPE, Value
from simt.jit.lanes import Lanes
from simt.ptx.statements import Address, Imm, Reg, Symbol

SITE_FIELDS = 8             # of a row in the table that native code reads: simt/jit/memory.py
SPACES = ("global", "shared", "local", "const", "param", "generic")


@dataclasses.dataclass(slots=True, eq=False)
class Group:
    """Accesses of one block to one base address: checked together, as one interval around the base.

    low, high: bytes from the base, over all lanes and offsets; index: the pair of the check cache; size: alignment asked for
    passed:    i1 text once the check has been emitted
    """

    index: int
    space: str
    size: int
    low: int
    high: int
    passed: str | None = None

    @property
    def extent(self) -> int:
        return self.high - self.low


class Bounds(NamedTuple):
    """What the runtime has to know of a group: bytes from the base, and the alignment asked for."""

    space: str
    size: int
    low: int
    extent: int


@dataclasses.dataclass(slots=True, eq=False)
class Site:
    """One memory instruction in the code: the runtime finds its source line through it."""

    index: int
    node: Node
    space: str
    element_bytes: int
    elements: int
    action: str                     # "load", "store" or "atomic"
    group: Group
    batch: list[Site]               # loads that run together with this one: same group, nothing written in between

    @property
    def bytes(self) -> int:
        return self.element_bytes * self.elements


@dataclasses.dataclass(slots=True, eq=False)
class Access:
    """A site with its address in the running code: ``base`` without the offset of the operand, lane type i64.

    hosts: the host pointers of the bases, where something else has chosen them (simt/jit/standby.py)
    window: the state space that a generic access of the lanes in question goes to, and in which ``base`` counts
    values: what a store writes, by element; known to observers
    """

    site: Site
    base: Lanes
    offset: int
    hosts: tuple[Value, ...] | None = None
    window: str | None = None
    values: tuple[Lanes, ...] = ()

    @property
    def space(self) -> str:
        return self.window or self.site.space

    @property
    def shape(self) -> Shape:
        return self.base.shape


def parse(node: Node) -> tuple[str, str, int, int]:
    """(space, element IR type, element bytes, elements) of a load, store or atomic opcode."""
    form = node.form
    space = next((part for part in form.parts if part in SPACES), None)
    if space is None:
        space = "shared" if form.has("shared::cta") else "generic"
    elements = 4 if form.has("v4") else 2 if form.has("v2") else 1
    return space, IR_TYPE[form.type], bits_of(form.type) // 8, elements


def split_address(operand) -> tuple[object, int]:
    """Base operand and constant offset of ``[base+offset]``."""
    if not isinstance(operand, Address):
        raise Unsupported(f"the memory operand {operand}")
    if isinstance(operand.base, Symbol):
        return Symbol(operand.base.name), operand.base.offset + operand.offset
    if isinstance(operand.base, Imm):
        return Imm(0), operand.base.bits + operand.offset
    return operand.base, operand.offset


class Planner:
    """Finds the groups and batches of a block. Sites and groups are numbered through the whole kernel."""

    def __init__(self, shape_of):
        self.shape_of = shape_of
        self.sites: list[Site] = []
        self.groups: list[Group] = []
        self.by_node: dict[Node, Site] = {}

    def plan(self, nodes: list[Node]) -> None:
        groups: dict[tuple, Group] = {}
        batches: dict[tuple, list[Site]] = {}
        for node in nodes:
            if node.row.kind in ("load", "store", "atomic") and parse(node)[0] != "param":
                self.add(node, groups, batches)
            elif node.row.kind in ("other", "barrier"):     # fences order memory
                batches.clear()

    def add(self, node: Node, groups: dict[tuple, Group], batches: dict[tuple, list[Site]]) -> None:
        space, _, element_bytes, elements = parse(node)
        size = element_bytes * elements
        base, offset = split_address(node.operands[0])
        shape = self.shape_of(base)
        offsets = shape.offsets if shape.bases else (0,)
        low, high = min(offsets) + offset, max(offsets) + offset + size
        key = (space, base_key(base), size, offset % size)
        group = None if node.guard else groups.get(key)
        if group is None:
            group = Group(len(self.groups), space, size, low, high)
            self.groups.append(group)
            if not node.guard:
                groups[key] = group
        group.low, group.high = min(group.low, low), max(group.high, high)
        action = node.row.kind
        site = Site(len(self.sites), node, space, element_bytes, elements, action, group, [])
        self.sites.append(site)
        self.by_node[node] = site
        self.join_batch(site, key, batches)

    @staticmethod
    def join_batch(site: Site, key: tuple, batches: dict[tuple, list[Site]]) -> None:
        plain = site.action == "load" and not site.node.guard and not ORDERED & set(site.node.form.parts)
        if plain:
            site.batch = batches.setdefault(key, [])
            site.batch.append(site)
            return
        for other in list(batches):
            if site.action != "load" or site.space in (other[0], "generic") or other[0] == "generic":
                batches.pop(other)


ORDERED = frozenset({"volatile", "relaxed", "acquire"})


def base_key(base) -> str:
    return base.name if isinstance(base, Reg | Symbol) else ""
