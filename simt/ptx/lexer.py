"""The lexical part of PTX: comments, names, literals, line numbers (PTX ISA, chapter 4)."""
from __future__ import annotations

import bisect
import re
import struct

from simt.ptx.statements import Imm

NAME = r"(?:[A-Za-z_$%][\w$]*)"
PRAGMA = re.compile(r'\s*\.pragma\s+"[^"\n]*"\s*;')
DEBUG_SECTION = re.compile(r"\s*\.section\s+[\w.$]+\s*\{[^{}]*\}", re.ASCII)

_SHOWN_CHARACTERS = 120
_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HEX_FLOAT = re.compile(r"0[fF](?P<single>[0-9a-fA-F]{8})$|0[dD](?P<double>[0-9a-fA-F]{16})$")
_INTEGER = re.compile(
    r"(?P<sign>-?)(?:0[xX](?P<hex>[0-9a-fA-F]{1,16})|0[bB](?P<binary>[01]{1,64})"
    r"|0(?P<octal>[0-7]{1,22})|(?P<decimal>[0-9]{1,20}))U?$", re.ASCII
)
_DECIMAL_FLOAT = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?$", re.ASCII)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}


class PtxError(ValueError):
    """PTX text that the parser does not understand.

    line: line in the PTX text, from 1;  text: the offending text, shortened
    """

    def __init__(self, message: str, line: int, text: str) -> None:
        shown = " ".join(text.split())
        if len(shown) > _SHOWN_CHARACTERS:
            shown = shown[:_SHOWN_CHARACTERS] + "…"
        super().__init__(f"PTX line {line}: {message}: {shown!r}")
        self.line = line
        self.text = shown


class Text:
    """PTX text without comments, which knows the line of every position."""

    def __init__(self, text: str) -> None:
        # NVRTC hands over a C string; its terminator may still be there.
        self.text = _COMMENT_OR_STRING.sub(_keep_strings_and_newlines, text.rstrip("\0"))
        self._newlines = [match.start() for match in re.finditer("\n", self.text)]

    def line(self, position: int) -> int:
        return bisect.bisect_left(self._newlines, position) + 1

    def error(self, message: str, position: int) -> PtxError:
        """An error about the statement that begins at ``position``."""
        start = len(self.text) - len(self.text[position:].lstrip())
        end = min((at for at in (self.text.find(stop, start) for stop in ";\n") if at >= 0), default=len(self.text))
        return PtxError(message, self.line(start), self.text[start:end + 1] or "end of text")


def _keep_strings_and_newlines(match: re.Match[str]) -> str:
    found = match.group()
    return found if found[0] == '"' else " " + "\n" * found.count("\n")


def literal(text: str) -> Imm | None:
    """The value of a literal, or None where the text is none. A decimal float is 64 bits wide, as in PTX."""
    if match := _INTEGER.match(text):
        digits = match.lastgroup
        value = int(match[digits], _BASES[digits])
        if value >= 1 << 64:
            return None
        return Imm(-value if match["sign"] else value)
    if match := _HEX_FLOAT.match(text):
        return Imm(int(match[match.lastgroup], 16), 32 if match["single"] else 64)
    if _DECIMAL_FLOAT.match(text):
        return Imm(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    return None
