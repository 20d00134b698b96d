"""Declarations of variables and parameters (PTX ISA, chapter 5)."""
from __future__ import annotations

import re

from simt.ptx.lexer import NAME, PtxError, Text, literal
from simt.ptx.statements import Imm, Symbol, Variable, type_bytes

TYPES = frozenset(
    "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 pred".split()
)
LINKAGE = r"(?P<linkage>(?:\.(?:extern|visible|weak|common)\b\s*)*)"

_ALIGN = r"(?:\.align\s+(?P<align>\d{1,6})\s*)?"
_ATTRIBUTE = r"(?:\.attribute\s*\(\s*\.managed\s*\)\s*)?"
_TYPE = r"(?:\.v(?P<vector>[248])\s*)?\.(?P<type>\w+)\s*"
_POINTER = r"(?:\.ptr\b\s*(?:\.(?:global|const|shared|local)\s*)?(?:\.align\s+\d+\s*)?)?"
_NAME_AND_DIMENSIONS = rf"(?P<name>{NAME})\s*(?P<dimensions>(?:\[[^\[\]]*\]\s*)*)"
_DECLARATION = re.compile(
    rf"\s*{LINKAGE}\.(?P<space>global|const|shared|local|param)\b\s*{_ATTRIBUTE}{_ALIGN}{_ATTRIBUTE}{_TYPE}"
    rf"{_NAME_AND_DIMENSIONS}(?:=(?P<initial>[^;]*))?;", re.ASCII
)
_PARAMETER = re.compile(
    rf"\s*\.(?P<space>param)\b\s*{_ALIGN}{_TYPE}{_POINTER}{_ALIGN.replace('align>', 'late_align>')}"
    rf"{_NAME_AND_DIMENSIONS}$", re.ASCII
)
_INITIAL_SYMBOL = re.compile(
    rf"(?:generic\s*\(\s*(?P<generic>{NAME})\s*\)|(?P<plain>{NAME}))\s*(?:(?P<sign>[+-])\s*(?P<offset>\d{{1,18}}))?$",
    re.ASCII,
)


def variable(text: Text, position: int) -> tuple[Variable, str, int]:
    """The declaration at ``position``: the variable, its linkage ("private" without a word), the position after it."""
    match = _DECLARATION.match(text.text, position)
    if match is None:
        raise text.error("not a variable declaration this parser knows", position)
    line = text.line(match.start("space"))
    linkage = match["linkage"].replace(".", " ").split()
    initial = None if match["initial"] is None else _initial(match["initial"], line)
    declared = _build(match, line, initial, "extern" in linkage)
    return declared, linkage[0] if linkage else "private", match.end()


def parameters(text: str | None, line: int) -> tuple[Variable, ...]:
    """The parameters of a comma-separated list; None and blank text give none."""
    if not text or not text.strip():
        return ()
    found = []
    for item in text.split(","):
        match = _PARAMETER.match(item)
        if match is None:
            raise PtxError("not a parameter this parser knows", line, item)
        found.append(_build(match, line, None, False))
    return tuple(found)


def check_type(name: str, line: int) -> str:
    if name not in TYPES:
        raise PtxError("unsupported type", line, "." + name)
    return name


def _build(match: re.Match[str], line: int, initial: tuple[Imm | Symbol, ...] | None, extern: bool) -> Variable:
    element = check_type(match["type"], line)
    lanes = int(match["vector"] or 1)
    count, is_array = _elements(match["dimensions"], initial, line)
    if initial is not None and len(initial) > count * lanes:
        raise PtxError(f"{len(initial)} initial values for {count * lanes} elements", line, match["name"])
    explicit = match.groupdict().get("late_align") or match["align"]
    align = int(explicit) if explicit else type_bytes(element) * lanes
    if align < 1 or align & (align - 1):
        raise PtxError("alignment is not a power of two", line, match.group())
    return Variable(match["name"], match["space"], element, count * lanes, align,
                    is_array=is_array or lanes > 1, initial=initial, extern=extern)


def _elements(dimensions: str, initial: tuple[Imm | Symbol, ...] | None, line: int) -> tuple[int, bool]:
    """Elements of ``[4][8]`` (the product) or ``[]`` (as many as initial values); whether it is an array."""
    if not dimensions:
        return 1, False
    sizes = [size.strip() for size in dimensions.strip()[1:-1].replace("]", "").split("[")]
    if sizes == [""]:
        return len(initial or ()), True
    count = 1
    for size in sizes:
        value = literal(size)
        if value is None or value.float_width or value.bits < 0:
            raise PtxError("not an array size", line, dimensions)
        count *= value.bits
    return count, True


def _initial(text: str, line: int) -> tuple[Imm | Symbol, ...]:
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return tuple(_initial_value(item.strip(), line) for item in text.split(","))


def _initial_value(text: str, line: int) -> Imm | Symbol:
    value = literal(text)
    if value is not None:
        return value
    match = _INITIAL_SYMBOL.match(text)
    if match is None:
        raise PtxError("not an initial value this parser knows", line, text)
    offset = int(match["offset"] or 0)
    return Symbol(match["generic"] or match["plain"], -offset if match["sign"] == "-" else offset)
