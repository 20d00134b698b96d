"""Names inside one function: which are registers, what nested scopes shadow, and operands made of them."""
from __future__ import annotations

import dataclasses
import re

from simt.ptx.lexer import NAME, PtxError, literal
from simt.ptx.statements import Address, Imm, Negated, Operand, Pair, Reg, Symbol, Variable, Vector

SINK = Reg("_")

_DIGITS = "0123456789"
_WHOLE_NAME = re.compile(rf"{NAME}(?:\.[xyzw])?$", re.ASCII)
_ADDRESS = re.compile(
    r"\[\s*(?P<base>[%\w$.]+)\s*(?:(?P<sign>[+-])\s*(?P<offset>-?\s*\w+)\s*)?\]$", re.ASCII
)
_SYMBOL_AND_OFFSET = re.compile(rf"(?P<name>{NAME})\s*(?P<sign>[+-])\s*(?P<offset>\d\w*)$", re.ASCII)
_PAIR = re.compile(rf"({NAME})\s*\|\s*({NAME})$", re.ASCII)
_LIST_ITEM = re.compile(r"\s*(\{[^{}]*\}|\[[^\[\]{}]*\]|[^,{}\[\]]+?)\s*(?:,|$)")
# PTX ISA, chapter 10 "Special Registers".
_SPECIAL = re.compile(
    r"%(?:(?:tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)\.[xyz]"
    r"|laneid|warpid|nwarpid|smid|nsmid|gridid|is_explicit_cluster|cluster_ctarank|cluster_nctarank"
    r"|lanemask_(?:eq|le|lt|ge|gt)|clock|clock_hi|clock64|globaltimer(?:_lo|_hi)?|pm\d+(?:_64)?|envreg\d+"
    r"|reserved_smem_offset_\w+|total_smem_size|aggr_smem_size|dynamic_smem_size|current_graph_exec)$", re.ASCII
)


@dataclasses.dataclass(slots=True)
class Names:
    """Everything declared so far in a function, under names that are unique in it."""

    registers: dict[str, str] = dataclasses.field(default_factory=dict)
    variables: dict[str, Variable] = dataclasses.field(default_factory=dict)
    scopes: int = 0

    def taken(self, name: str, is_range: bool) -> bool:
        """Whether a new register or variable of this name would be confused with an earlier one."""
        prefix = name if is_range else name.rstrip(_DIGITS)
        if name in self.variables or name in self.registers or prefix in self.registers:
            return True
        return is_range and any(known.rstrip(_DIGITS) == name for known in self.registers)


class Scope:
    """One ``{ }`` of a function body. ``begin`` is the index of its first statement in the body."""

    def __init__(self, names: Names, parent: Scope | None, begin: int) -> None:
        names.scopes += 1
        self.names = names
        self.parent = parent
        self.begin = begin
        self.suffix = f"@{names.scopes}"
        self.labels: set[str] = set()
        self.cache: dict[str, Operand] = {}
        self._registers: dict[str, str] = {}
        self._ranges: dict[str, tuple[str, int]] = {}
        self._variables: dict[str, str] = {}

    def declare_register(self, name: str, count: int | None, ptx_type: str, line: int) -> None:
        """``.reg`` of one register, or of ``name<count>``."""
        self._refuse_redeclaration(name, line)
        unique = name if name[0] == "%" else f"%_{name}"
        is_range = count is not None
        if is_range and name[-1] in _DIGITS:
            raise PtxError("a register range whose prefix ends in a digit is not supported", line, name)
        if self.names.taken(unique, is_range):
            unique += self.suffix + ("_" if is_range else "")
        self.names.registers[unique] = ptx_type
        if count is None:
            self._registers[name] = unique
        else:
            self._ranges[name] = unique, count
        self.cache.clear()

    def declare_variable(self, variable: Variable, line: int) -> None:
        self._refuse_redeclaration(variable.name, line)
        unique = variable.name
        if self.names.taken(unique, False):
            unique += self.suffix
        self.names.variables[unique] = dataclasses.replace(variable, name=unique)
        self._variables[variable.name] = unique
        self.cache.clear()

    def operand(self, text: str, line: int) -> Operand:
        """The operand that ``text`` spells."""
        found = self.cache.get(text)
        if found is None:
            stripped = text.strip()
            found = self.cache[text] = self._lookup(stripped) or self._operand(stripped, line)
        return found

    def operands(self, text: str, line: int) -> tuple[Operand, ...]:
        """A comma-separated list of operands; blank text gives none."""
        if "{" not in text:
            items = text.replace(", ", ",").strip()
            return tuple([self.operand(item, line) for item in items.split(",")]) if items else ()
        if text.rstrip().endswith(","):
            raise PtxError("not a list of operands", line, text)
        found, position = [], 0
        while position < len(text):
            match = _LIST_ITEM.match(text, position)
            if match is None:
                raise PtxError("not a list of operands", line, text)
            found.append(self.operand(match[1], line))
            position = match.end()
        return tuple(found)

    def register(self, text: str, line: int) -> Reg:
        found = self.operand(text, line)
        if not isinstance(found, Reg):
            raise PtxError("expected a register", line, text)
        return found

    def _refuse_redeclaration(self, name: str, line: int) -> None:
        if name in self._registers or name in self._ranges or name in self._variables:
            raise PtxError("declared twice in one scope", line, name)

    def _operand(self, text: str, line: int) -> Operand:
        first = text[:1]
        if first == "[":
            return self._address(text, line)
        if first == "{" and text.endswith("}"):
            return Vector(self.operands(text[1:-1], line))
        if first == "!":
            return Negated(self.register(text[1:], line))
        if _WHOLE_NAME.match(text):
            return self._name(text, line)
        value = literal(text)
        if value is not None:
            return value
        if match := _PAIR.match(text):
            return Pair(self.register(match[1], line), self.register(match[2], line))
        if match := _SYMBOL_AND_OFFSET.match(text):
            symbol = self._name(match["name"], line)
            if isinstance(symbol, Symbol):
                return Symbol(symbol.name, _offset(match, line))
        raise PtxError("not an operand this parser knows", line, text)

    def _address(self, text: str, line: int) -> Address:
        match = _ADDRESS.match(text)
        if match is None:
            raise PtxError("not an address this parser knows", line, text)
        base = self.operand(match["base"], line)
        if not isinstance(base, Reg | Symbol | Imm) or base == SINK:
            raise PtxError("an address starts with a register, a variable or an integer", line, text)
        return Address(base, _offset(match, line))

    def _name(self, text: str, line: int) -> Reg | Symbol | Imm:
        if text == "_":
            return SINK
        if text == "WARP_SZ":
            return Imm(32)
        found = self._lookup(text)
        if found is not None:
            return found
        if text[0] == "%":
            if not _SPECIAL.match(text):
                raise PtxError("undeclared register", line, text)
            return Reg(text)
        if "." in text:
            raise PtxError("vector registers are not supported", line, text)
        return Symbol(text)

    def _lookup(self, text: str) -> Reg | Symbol | None:
        prefix = text.rstrip(_DIGITS)
        number = text[len(prefix):]
        scope: Scope | None = self
        while scope is not None:
            if text in scope._registers:
                return Reg(scope._registers[text])
            if text in scope._variables:
                return Symbol(scope._variables[text])
            if number and prefix in scope._ranges:
                unique, count = scope._ranges[prefix]
                if len(number) <= 9 and int(number) < count:
                    return Reg(unique + number)
            scope = scope.parent
        return None


def _offset(match: re.Match[str], line: int) -> int:
    if match["offset"] is None:
        return 0
    value = literal(match["offset"].replace(" ", ""))
    if value is None or value.float_width:
        raise PtxError("not an integer offset", line, match.group())
    return -value.bits if match["sign"] == "-" else value.bits
