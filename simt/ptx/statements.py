"""What the parser produces: PTX text as plain data, with no meaning attached.

Everything here is a frozen record. Types stay as PTX spells them ("u64", "f32", "pred").
The grammar follows the PTX ISA, chapter 4 "Syntax" and chapter 5 "State Spaces, Types, and Variables".
"""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class SourceLine:
    """Where a statement comes from in the learner's program: a `.loc` directive."""

    file: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Reg:
    """A register: ``%rd4``; special registers too, with their axis: ``%tid.x``."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Imm:
    """A literal. ``bits`` holds an integer literal's value, or the bit pattern of ``0f…`` (32) and ``0d…`` (64).

    ``float_width`` is 32 or 64 for floating literals, 0 for integers.
    """

    bits: int
    float_width: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or function, with a byte offset: ``tile+16``."""

    name: str
    offset: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """A memory operand: ``[%rd4+8]``, ``[tile+16]`` or ``[128]``."""

    base: Reg | Symbol | Imm
    offset: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Vector:
    """A braced operand: ``{%f1, %f2, %f3, %f4}``."""

    items: tuple[Operand, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations joined by a bar: ``%p1|%p2``. The sink ``_`` is ``Reg("_")``."""

    first: Reg
    second: Reg


@dataclasses.dataclass(frozen=True, slots=True)
class Negated:
    """A predicate source read inverted: ``!%p1``."""

    register: Reg


Operand = Reg | Imm | Symbol | Address | Vector | Pair | Negated


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: ``@!%p1 ld.global.f32 %f1, [%rd4+8];``.

    opcode:   the dotted opcode as one string: "ld.global.f32"
    operands: in the order of the text, destinations first; the target of ``bra`` is a Symbol
    guard:    register of the predicate, or None
    negated:  True for ``@!%p``
    line:     line in the PTX text, from 1
    source:   the learner's line, or None where the compiler gave none
    inlined:  call chain of ``inlined_at``, innermost caller first
    For ``call`` the operands are (Vector(returns), Symbol(callee) or Reg, Vector(arguments)), then the prototype's
    Symbol where the call is indirect.
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: str | None
    negated: bool
    line: int
    source: SourceLine | None
    inlined: tuple[SourceLine, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """A declaration outside registers: a parameter, or global, constant, shared or local memory.

    space:   "param", "global", "const", "shared" or "local"
    type:    element type: "u64", "b8", "f32"
    count:   elements; 1 for a scalar, 0 for an extern array of unknown size (dynamic shared memory)
    align:   bytes
    initial: initialiser elements (Imm or Symbol), or None
    extern:  declared here, defined elsewhere
    """

    name: str
    space: str
    type: str
    count: int
    align: int
    is_array: bool = False
    initial: tuple[Imm | Symbol, ...] | None = None
    extern: bool = False

    @property
    def size_bytes(self) -> int:
        return self.count * type_bytes(self.type)


@dataclasses.dataclass(frozen=True, slots=True)
class Prototype:
    """The signature of an indirect call: ``.callprototype (.param .b32 _) _ (.param .b64 _)``."""

    returns: tuple[Variable, ...]
    params: tuple[Variable, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A kernel (``.entry``) or device function (``.func``).

    registers: name prefix or whole name -> type: ``.reg .b32 %r<7>`` gives {"%r": "b32"}
    variables: shared, local and param variables declared inside the body (nested scopes flattened)
    body:      None for a declaration (``.extern .func``)
    directives: performance directives by name: {"maxntid": (256, 1, 1)}
    prototypes: signatures of indirect calls, by their label
    branch_targets: labels of each ``.branchtargets`` list, by its label

    Names declared again in a nested scope get a suffix that PTX cannot spell: ``param0`` becomes ``param0@2``,
    the range ``%r<4>`` becomes ``%r@2_<4>``, a label ``again`` becomes ``again@2``. Every register's name begins with a percent
    sign: ``h``, as inline PTX likes to say, becomes ``%_h``.
    """

    name: str
    is_entry: bool
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: dict[str, str]
    variables: tuple[Variable, ...]
    body: tuple[Instruction | Label, ...] | None
    directives: dict[str, tuple[int, ...]]
    line: int
    prototypes: dict[str, Prototype] = dataclasses.field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def register_type(self, name: str) -> str:
        """Type of ``%rd12``; raises KeyError for a register that was never declared."""
        return self.registers[name] if name in self.registers else self.registers[name.rstrip("0123456789")]


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    version: tuple[int, int]
    target: str
    variables: dict[str, Variable]
    functions: dict[str, Function]
    files: dict[int, str]


TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def type_bytes(ptx_type: str) -> int:
    """Bytes of a fundamental type: "u64" -> 8, "f16x2" -> 4, "pred" -> 1."""
    if ptx_type == "pred":
        return 1
    if ptx_type.endswith("x2"):
        return 2 * type_bytes(ptx_type[:-2])
    return TYPE_BYTES[ptx_type.lstrip("abcdefghijklmnopqrstuvwxyz")]
