"""PTX text to plain data. ``parse`` is the entry; the records stand in ``statements``."""
from __future__ import annotations

from simt.ptx.lexer import PtxError
from simt.ptx.parser import parse

__all__ = ["PtxError", "parse"]
