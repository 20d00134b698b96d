"""PTX text to plain data: ``parse(text) -> Module``.

Understands what NVVM (Numba) and NVRTC emit, and inline PTX; anything else raises PtxError, nothing is skipped.
The grammar is that of the PTX ISA, chapters 4, 5 and 11 (directives).
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from simt.ptx import declarations
from simt.ptx.body import Body
from simt.ptx.lexer import DEBUG_SECTION, NAME, PRAGMA, PtxError, Text, literal
from simt.ptx.link import Section, merge
from simt.ptx.statements import Function, Imm, Module

_MODULE = re.compile(r"^[ \t]*\.version\b", re.MULTILINE)
_BLANK = re.compile(r"\s*")
_DIRECTIVE = re.compile(r"\s*\.(\w+)", re.ASCII)
_IS_FUNCTION = re.compile(rf"\s*{declarations.LINKAGE}\.(?:entry|func)\b")
_VERSION = re.compile(r"\s*\.version\s+(\d{1,4})\.(\d{1,4})\s", re.ASCII)
_TARGET = re.compile(r"\s*\.target\s+(\w+)(?:\s*,\s*(?:debug|texmode_unified|texmode_independent))*(?=\s)", re.ASCII)
_ADDRESS_SIZE = re.compile(r"\s*\.address_size\s+64(?=\s)")
_FILE_ENTRY = re.compile(r'\.file\s+(\d{1,9})\s+"([^"\n]*)"(?:\s*,\s*\d+\s*,\s*\d+)?', re.ASCII)
_FILE = re.compile(rf"\s*{_FILE_ENTRY.pattern}", re.ASCII)
_ALIAS = re.compile(rf"\s*\.alias\s+({NAME})\s*,\s*({NAME})\s*;", re.ASCII)
_FUNCTION = re.compile(
    rf"\s*{declarations.LINKAGE}\.(?P<kind>entry|func)\b\s*(?:\((?P<returns>[^()]*)\)\s*)?(?P<name>{NAME})\s*"
    rf"(?:\((?P<params>[^()]*)\)\s*)?(?P<directives>(?:[^;{{}}\"]|\"[^\"\n]*\"\s*;)*)(?P<end>[;{{])", re.ASCII
)
_PERFORMANCE = re.compile(
    r"\s*\.(maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn|reqnctapercluster|explicitcluster"
    r"|maxclusterrank|blocksareclusters)\b([\d\s,xXa-fA-F]*)", re.ASCII
)


def parse(text: str) -> Module:
    """Parses one PTX module, or several concatenated ones, each with its own .version and .file table.

    Raises PtxError with the line and the text of the first statement that is not understood.
    """
    source = Text(text)
    starts = [match.start() for match in _MODULE.finditer(source.text)]
    if not starts:
        raise source.error("PTX begins with .version", 0)
    if source.text[:starts[0]].strip():
        raise source.error("only comments may come before .version", 0)
    ends = [*starts[1:], len(source.text)]
    return merge([_SectionParser(source, start, end).parse() for start, end in zip(starts, ends, strict=True)])


class _SectionParser:
    """Parses one module of the text, from its .version to the next one."""

    def __init__(self, text: Text, start: int, end: int) -> None:
        self._text = text
        self._position = start
        self._end = end
        self._section = Section()
        # Before anything else, because a .file may follow the .loc directives that use it.
        self._section.files = {int(index): path for index, path in _FILE_ENTRY.findall(text.text, start, end)}
        self._handlers = {
            "version": self._version, "target": self._target, "alias": self._alias, "pragma": self._skip(PRAGMA),
            "address_size": self._skip(_ADDRESS_SIZE), "file": self._skip(_FILE), "section": self._skip(DEBUG_SECTION),
        }
        for linkable in ("extern", "visible", "weak", "common", "entry", "func", "global", "const", "shared", "local"):
            self._handlers[linkable] = self._symbol

    def parse(self) -> Section:
        source = self._text.text
        while (position := _BLANK.match(source, self._position).end()) < self._end:
            self._position = position
            match = _DIRECTIVE.match(source, position)
            handler = self._handlers.get(match[1]) if match else None
            if handler is None:
                raise self._text.error("not a directive this parser knows", position)
            handler()
        if not self._section.target:
            raise self._text.error("module without .target", self._end)
        return self._section

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text.text, self._position)
        if match is None:
            raise self._text.error("not a directive this parser knows", self._position)
        self._position = match.end()
        return match

    def _skip(self, pattern: re.Pattern[str]) -> Callable[[], object]:
        return lambda: self._match(pattern)

    def _version(self) -> None:
        match = self._match(_VERSION)
        self._section.version = int(match[1]), int(match[2])

    def _target(self) -> None:
        self._section.target = self._match(_TARGET)[1]

    def _alias(self) -> None:
        line = self._text.line(self._position)
        match = self._match(_ALIAS)
        aliased = self._section.symbols.get(match[2])
        if not isinstance(aliased, Function):
            raise PtxError("alias of a function that is not defined before it", line, match.group())
        linkage = self._section.linkage.get(match[1], self._section.linkage[match[2]])
        self._section.define(dataclasses.replace(aliased, name=match[1]), linkage, line)

    def _symbol(self) -> None:
        if _IS_FUNCTION.match(self._text.text, self._position):
            self._function()
            return
        line = self._text.line(self._position)
        variable, linkage, self._position = declarations.variable(self._text, self._position)
        self._section.define(variable, linkage, line)

    def _function(self) -> None:
        start = self._position
        line = self._text.line(start)
        match = self._match(_FUNCTION)
        is_entry = match["kind"] == "entry"
        linkage = match["linkage"].replace(".", " ").split()
        returns = declarations.parameters(match["returns"], line)
        params = declarations.parameters(match["params"], line)
        if is_entry and returns:
            raise self._text.error("a kernel returns nothing", start)
        directives = self._performance(match["directives"], line)
        body = None
        if match["end"] == "{":
            body = Body(self._text, self._section.files, (*returns, *params))
            self._position = body.parse(self._position)
        self._section.define(Function(
            name=match["name"], is_entry=is_entry, params=params, returns=returns, directives=directives, line=line,
            registers=body.names.registers if body else {}, variables=body.variables() if body else (),
            body=tuple(body.statements) if body else None, prototypes=body.prototypes if body else {},
            branch_targets=body.branch_targets if body else {},
        ), linkage[0] if linkage else "private", line)

    def _performance(self, text: str, line: int) -> dict[str, tuple[int, ...]]:
        """Directives between the parameters and the body: ``.maxntid 256, 1, 1`` gives {"maxntid": (256, 1, 1)}."""
        found: dict[str, tuple[int, ...]] = {}
        position = 0
        while text[position:].strip():
            match = _PERFORMANCE.match(text, position)
            if match is None:
                pragma = PRAGMA.match(text, position)
                if pragma is None:
                    raise PtxError("not a directive this parser knows", line, text[position:])
                position = pragma.end()
                continue
            values = [literal(item.strip()) for item in match[2].split(",")] if match[2].strip() else []
            if not all(isinstance(value, Imm) and not value.float_width for value in values):
                raise PtxError("not a list of integers", line, match.group())
            found[match[1]] = tuple(value.bits for value in values)
            position = match.end()
        return found
