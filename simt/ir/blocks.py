"""PTX statements -> basic blocks.

A block ends in one terminator: a jump, a two-way branch, a return, or a barrier (a warp is suspended there).
Guarded returns and barriers become branches around a block of their own, so a guard is left only on instructions that
act lane by lane.
"""
from __future__ import annotations

import dataclasses

from simt.isa.table import Unsupported, find
from simt.ptx.statements import (
    Address,
    Function,
    Imm,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    Reg,
    SourceLine,
    Symbol,
    Vector,
)

RETURNS = ("ret", "exit")
BARRIERS = ("bar", "barrier")
MEETINGS = ("shfl", "vote", "match", "redux")
NO_RESULT = frozenset({"st", "red", "membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "trap", "brkpt",
                       "discard", "applypriority"})


@dataclasses.dataclass(slots=True, eq=False)
class Node:
    """One instruction. After SSA, ``results`` and every register in ``operands`` are SSA names."""

    opcode: str
    results: list[str]
    operands: list[Operand]
    guard: str | None
    negated: bool
    line: int
    source: SourceLine | None
    inlined: tuple[SourceLine, ...]
    row: object = None
    form: object = None
    previous: dict[str, str] = dataclasses.field(default_factory=dict)     # result -> its value before a guarded write

    @property
    def base(self) -> str:
        return self.opcode.split(".", 1)[0]

    def uses(self) -> list[str]:
        """Registers read, the guard included."""
        names = [name for operand in self.operands for name in registers(operand)]
        if self.guard:
            names.append(self.guard)
        return [*names, *self.previous.values()]


@dataclasses.dataclass(slots=True, eq=False)
class Phi:
    result: str
    incoming: dict[Block, str]


@dataclasses.dataclass(slots=True, eq=False)
class Block:
    """Nodes, then a terminator. ``successors`` of a branch are (taken, not taken).

    waits: the way back of a loop in which lanes wait for others (simt/ir/waits.py)
    parks: lanes wait at the collective that begins it, if others may still come (simt/jit/turns.py)
    """

    name: str
    nodes: list[Node] = dataclasses.field(default_factory=list)
    terminator: Node | None = None
    successors: list[Block] = dataclasses.field(default_factory=list)
    predecessors: list[Block] = dataclasses.field(default_factory=list)
    phis: list[Phi] = dataclasses.field(default_factory=list)
    position: int = -1
    waits: bool = False
    parks: bool = False

    @property
    def ends_in_return(self) -> bool:
        return not self.successors

    @property
    def is_exit(self) -> bool:
        """Nothing but a return: lanes that branch here simply end."""
        return self.ends_in_return and not self.nodes and (self.terminator is None or self.terminator.base in RETURNS)

    @property
    def barrier(self) -> Node | None:
        node = self.terminator
        return node if node is not None and is_barrier(node) else None

    @property
    def branch(self) -> Node | None:
        node = self.terminator
        return node if node is not None and len(self.successors) == 2 else None

    @property
    def meeting(self) -> Node | None:
        """The collective of a warp that the block begins with, if any."""
        return self.nodes[0] if self.nodes and is_meeting(self.nodes[0]) else None

    def __repr__(self) -> str:
        return f"<Block {self.name}>"


@dataclasses.dataclass(slots=True, eq=False)
class Graph:
    """The control-flow graph of one kernel: reachable blocks in the order of the text, entry first."""

    function: Function
    blocks: list[Block]

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    def register_type(self, name: str) -> str:
        """PTX type of a register or of an SSA name ("%rd4.2")."""
        if name.startswith("%cc"):
            return "pred"
        return self.function.register_type(name.split(".", 1)[0])


def registers(operand: Operand) -> list[str]:
    """Names of the ordinary registers in an operand (special registers have an axis or are not declared)."""
    if isinstance(operand, Reg):
        return [operand.name] if is_register(operand.name) else []
    if isinstance(operand, Negated):
        return registers(operand.register)
    if isinstance(operand, Address):
        return registers(operand.base)
    if isinstance(operand, Vector):
        return [name for item in operand.items for name in registers(item)]
    if isinstance(operand, Pair):
        return registers(operand.first) + registers(operand.second)
    return []


SPECIAL = frozenset({
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid",
                                     "cluster_nctaid") for axis in "xyz"),
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%clock", "%clock64", "%clock_hi", "%globaltimer",
    "%globaltimer_lo", "%globaltimer_hi", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
    "%dynamic_smem_size", "%total_smem_size",
})


def is_register(name: str) -> bool:
    return name.startswith("%") and name not in SPECIAL


def build(function: Function) -> Graph:
    """Split a kernel's body into blocks and connect them. Raises Unsupported for an opcode without a row."""
    return _Splitter(function).run()


class _Splitter:
    def __init__(self, function: Function):
        self.function = function
        self.blocks = [Block("entry")]
        self.targets: dict[int, str] = {}       # index of a block that ends in a branch -> label
        self.labels: dict[str, Block] = {}
        self.serial = 0

    def run(self) -> Graph:
        for statement in self.function.body or ():
            if isinstance(statement, Label):
                self.labels[statement.name] = self.start(statement.name)
            else:
                self.add(statement)
        self.connect()
        return Graph(self.function, reachable(self.blocks))

    def start(self, name: str = "") -> Block:
        self.serial += 1
        self.blocks.append(Block(name or f"block{self.serial}"))
        return self.blocks[-1]

    def add(self, statement: Instruction) -> None:
        node = make_node(statement)
        block = self.blocks[-1]
        if block.terminator is not None:
            block = self.start()
        if node.base == "bra":
            block.terminator = node
        elif node.base in RETURNS or is_barrier(node):
            if node.guard:
                block = self.around(block, node)
            block.terminator = node
        else:
            block.nodes.append(node)

    def around(self, block: Block, node: Node) -> Block:
        """Turn ``@p ret`` into a branch over a block that returns: ``@!p bra after``."""
        inner = self.start()
        skip = f"after.{self.serial}"
        block.terminator = dataclasses.replace(node, opcode="bra", results=[], operands=[Symbol(skip)],
                                               negated=not node.negated)
        node.guard, node.negated = None, False
        self.labels[skip] = Block(skip)
        self.blocks.append(self.labels[skip])
        return inner

    def connect(self) -> None:
        for block, following in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            node = block.terminator
            if node is None or is_barrier(node):
                block.successors = [following] if following else []
            elif node.base == "bra":
                self.connect_branch(block, node, following)
        for block in self.blocks:
            for successor in block.successors:
                successor.predecessors.append(block)

    def connect_branch(self, block: Block, node: Node, following: Block | None) -> None:
        label = node.operands[0].name
        if label not in self.labels:
            raise Unsupported(f"a branch to the unknown label {label}", node.line)
        target = self.labels[label]
        node.operands = []
        if node.guard is None or target is following:
            node.guard = None
            block.successors = [target]
        else:
            block.successors = [target, following]


def make_node(statement: Instruction) -> Node:
    """Tell results from operands, and attach the instruction's row."""
    node = Node(statement.opcode, [], list(statement.operands), statement.guard, statement.negated, statement.line,
                statement.source, statement.inlined)
    base = node.base
    if base == "bra" or base in RETURNS:
        return node
    if base == "mov":
        node.opcode, node.operands = split_move(node)
    where = f"{statement.source.file}:{statement.source.line}" if statement.source else ""
    node.row, node.form = find(node.opcode, statement.line, where)
    if has_result(node):
        node.results = result_names(node.operands.pop(0))
    carry = getattr(node.row, "carry", "").split()
    if "in" in carry:
        node.operands.append(Reg("%cc"))
    if "out" in carry:
        node.results.append("%cc")
    return node


def split_move(node: Node) -> tuple[str, list[Operand]]:
    """``mov`` with a braced list has rows of its own (simt/isa/pack.py)."""
    target, source = node.operands
    ptx_type = node.opcode.split(".")[-1]
    if isinstance(target, Vector):
        return f"unpack{len(target.items)}.{ptx_type}", node.operands
    if isinstance(source, Vector):
        return f"pack{len(source.items)}.{ptx_type}", [target, *source.items]
    return node.opcode, node.operands


def is_barrier(node: Node) -> bool:
    """The warp is suspended here: barriers of the block, and that of a cooperative grid. Lanes of a warp meet at bar.warp.sync
    without leaving it."""
    return node.base in BARRIERS and not node.opcode.startswith("bar.warp") or node.opcode == "call.cudaCGSynchronize"


def is_meeting(node: Node) -> bool:
    """Lanes that a mask names meet here: a shuffle, a vote, a match, a reduction, bar.warp.sync."""
    return node.base in MEETINGS and ".sync" in node.opcode or node.opcode.startswith("bar.warp")


def has_result(node: Node) -> bool:
    if node.base == "call":
        return bool(node.row.result_types(node.form))
    if node.base in BARRIERS:
        return ".red." in node.opcode
    return node.base not in NO_RESULT


def result_names(operand: Operand) -> list[str]:
    if isinstance(operand, Reg):
        return [operand.name]
    if isinstance(operand, Pair):
        return [operand.first.name, operand.second.name]
    if isinstance(operand, Vector):
        return [item.name for item in operand.items]
    raise Unsupported(f"a result operand {operand}")


def reachable(blocks: list[Block]) -> list[Block]:
    seen, work = set(), [blocks[0]]
    while work:
        block = work.pop()
        if id(block) not in seen:
            seen.add(id(block))
            work.extend(block.successors)
    kept = [block for block in blocks if id(block) in seen]
    for block in kept:
        block.predecessors = [p for p in block.predecessors if id(p) in seen]
    return kept


__all__ = ["SPECIAL", "Block", "Graph", "Imm", "Node", "Phi", "build", "is_register", "registers"]
