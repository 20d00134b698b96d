"""The shape of one row of the instruction table, and how an opcode finds its row.

A row says what one PTX instruction means, twice: ``lower`` builds LLVM IR for the JIT, ``oracle`` says the same on plain
Python values. tests/simt/isa runs every form of every row both ways on the row's ``edges``.
An opcode that no row spells is unsupported: nothing is ever skipped or guessed.
"""
from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable

ROWS: dict[str, tuple[Row | WarpRow, Form]] = {}


class Unsupported(Exception):
    """PTX that the emulated device does not implement (yet): says which line and how to add it.

    what: an opcode, or in words anything else
    """

    def __init__(self, what: str, line: int | None = None, source: str = ""):
        self.what, self.line, self.source = what, line, source
        place = f" (PTX line {line}{', from ' + source if source else ''})" if line else ""
        super().__init__(
            f"the emulated device does not support {what}{place}" if " " in what else
            f"the emulated device has no row for {what}{place}. To add it: one row in simt/isa, see CONTRIBUTING.md, "
            "\"An instruction\""
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """One concrete opcode of a row: ``cvt.rn.f32.s32``."""

    opcode: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.opcode.split("."))

    @property
    def type(self) -> str:
        """The last token: the instruction's (source) type."""
        return self.parts[-1]

    @property
    def bits(self) -> int:
        """Width of ``type`` in bits; 1 for pred."""
        return bits_of(self.type)

    def has(self, modifier: str) -> bool:
        return modifier in self.parts[1:]


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What one PTX instruction means.

    forms:     the opcodes it covers, in brace notation: "add.{s32,u32}", "fma.rn{,.ftz}.f32"
    lower:     (builder, form, *operands) -> result, or a tuple of results
    oracle:    (form, *operands) -> the same on plain Python values: ints as unsigned bit patterns, floats as floats
    edges:     operand tuples to try, unsigned bit patterns for every type; or a callable form -> tuples
    section:   title of the PTX ISA section that defines it
    kind:      the counter class (KINDS in simt/observe/names.py): "int", "fp32", "convert", …
    operands:  form -> PTX types of the inputs; default: every input has the form's type
    results:   form -> PTX types of the outputs; default: one result of the form's type
    inputs:    how many inputs, where ``operands`` is left out
    rule:      name of the shape and range rule in simt/ir ("add", "shl", …): how lane offsets and value ranges pass
    tolerance: 0 for exact; else the largest relative error that the PTX ISA grants
    flops:     floating-point operations per lane (a fused multiply-add is 2)
    carry:     "in", "out" or "in out": reads or writes the condition code CC.CF as a last extra operand or result
    """

    forms: str
    lower: Callable
    oracle: Callable
    edges: tuple | Callable
    section: str
    kind: str
    inputs: int = 2
    operands: Callable[[Form], tuple[str, ...]] | None = None
    results: Callable[[Form], tuple[str, ...]] | None = None
    rule: str = ""
    tolerance: float = 0.0
    flops: int = 0
    carry: str = ""

    level = "lane"

    def operand_types(self, form: Form) -> tuple[str, ...]:
        types = self.operands(form) if self.operands else (form.type,) * self.inputs
        return (*types, "pred") if "in" in self.carry.split() else types

    def result_types(self, form: Form) -> tuple[str, ...]:
        types = self.results(form) if self.results else (form.type,)
        return (*types, "pred") if "out" in self.carry.split() else types

    def cases(self, form: Form) -> tuple:
        return tuple(self.edges(form)) if callable(self.edges) else self.edges


@dataclasses.dataclass(frozen=True, slots=True)
class WarpRow:
    """An instruction that is more than lane by lane: memory, shuffles, votes, barriers.

    lower:  (warp, node) -> None; ``warp`` is the JIT's emitter (simt/jit/function.py)
    oracle: the meaning in plain Python on lists of lane values; its arguments are those of the group's test
    edges:  inputs for that test
    shape:  of the results: "varying", "uniform", "copy" of the first operand's, or "address" (as uniform as the address is)
    operands, results: form -> PTX types
    """

    forms: str
    lower: Callable
    oracle: Callable
    edges: tuple | Callable
    section: str
    kind: str
    shape: str = "varying"
    operands: Callable[[Form], tuple[str, ...]] | None = None
    results: Callable[[Form], tuple[str, ...]] | None = None

    level = "warp"
    rule = ""
    carry = ""
    flops = 0

    def operand_types(self, form: Form) -> tuple[str, ...]:
        return self.operands(form) if self.operands else (form.type,)

    def result_types(self, form: Form) -> tuple[str, ...]:
        return self.results(form) if self.results else (form.type,)

    def cases(self, form: Form) -> tuple:
        return tuple(self.edges(form)) if callable(self.edges) else self.edges


def register(rows: Iterable[Row | WarpRow]) -> None:
    """Add rows; a form spelled twice or a row without edges does not load."""
    for row in rows:
        for opcode in expand(row.forms):
            form = Form(opcode)
            if opcode in ROWS:
                raise ValueError(f"{opcode} is defined twice")
            if not row.cases(form):
                raise ValueError(f"{opcode} has no edge cases")
            ROWS[opcode] = (row, form)


def find(opcode: str, line: int | None = None, source: str = "") -> tuple[Row | WarpRow, Form]:
    """The row and form of an opcode, under its usual spelling; raises Unsupported when there is none."""
    found = ROWS.get(opcode) or ROWS.get(usual(opcode))
    if found is None:
        raise Unsupported(opcode, line, source)
    return found


MEMORY = frozenset({"ld", "st", "atom", "red"})
HINTS = re.compile(r"ca|cg|cs|lu|wb|wt|L1::.*|L2::(evict|\d).*")
FRONT = (frozenset({"relaxed", "acquire", "release", "acq_rel"}), frozenset({"cta", "gpu", "sys"}),
         frozenset({"global", "shared", "shared::cta"}))


def usual(opcode: str) -> str:
    """A memory opcode without cache operators and hints, which change no value (``.cv`` reads like ``.volatile``); order and
    scope of an atomic before its operation: libcu++ writes them behind it."""
    base, *rest = opcode.split(".")
    if base not in MEMORY:
        return opcode
    rest = [word for word in rest if not HINTS.fullmatch(word)]
    if "cv" in rest:
        rest.remove("cv")
        rest.insert(0, "volatile")
    if base in ("atom", "red"):
        front = [word for group in FRONT for word in rest if word in group]
        rest = front + [word for word in rest if word not in front]
    return ".".join([base, *rest]).replace(".shared::cta", ".shared")


def expand(pattern: str) -> list[str]:
    """Brace expansion: "add.{s32,u32}" -> ["add.s32", "add.u32"]; "{,.ftz}" is optional. No nesting."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end():]
    return [whole for choice in match[1].split(",") for whole in expand(head + choice + tail)]


@functools.cache
def bits_of(ptx_type: str) -> int:
    """Width in bits: "s32" -> 32, "pred" -> 1, "f16x2" -> 32."""
    if ptx_type == "pred":
        return 1
    if ptx_type.endswith("x2"):
        return 2 * bits_of(ptx_type[:-2])
    return int(ptx_type.lstrip("abcdefghijklmnopqrstuvwxyz"))
