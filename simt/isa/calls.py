"""Functions that a GPU's runtime supplies to device code: printf, assert, malloc, free, the barrier of a cooperative grid;
and trap.

The oracle of printf gives the text that a call prints, that of malloc whether its answer is not null; others have no value.
"""
from __future__ import annotations

import re
import struct

from simt.isa.table import Form, WarpRow, register

DIRECTIVE = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(\d+))?(hh|h|ll|l|j|z|t)?([diouxXeEfFgGaAcsp%])")
EXAMPLES = (
    (b"%s %lld %f\n", (b"hello", 3, 1.5)),
    (b"%d%% of %5.2f|%-4d|%x\n", (42, 3.14159, 7, 255)),
)


def formatted(form: Form | None, text: bytes, arguments: tuple) -> str:
    """C's printf for the directives that device code can use; arguments in order."""
    rest = list(arguments)

    def one(match: re.Match) -> str:
        flags, width, precision, _, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(rest.pop(0)) if width == "*" else width or ""
        pattern = f"%{flags}{width}" + (f".{precision}" if precision else "")
        value = rest.pop(0)
        if kind == "s":
            return (pattern + "s") % value.decode(errors="replace")
        if kind == "p":
            return f"{value:#x}"
        return (pattern + {"i": "d", "u": "d", "a": "s", "A": "s"}.get(kind, kind)) % (
            float(value).hex() if kind in "aA" else value)

    return DIRECTIVE.sub(one, text.decode(errors="replace"))


def argument_layout(text: bytes) -> list[str]:
    """struct codes of the arguments that a format string takes: "i", "q", "d", "s" (a pointer to text)."""
    codes = []
    for _, width, _, size, kind in DIRECTIVE.findall(text.decode(errors="replace")):
        if kind == "%":
            continue
        if width == "*":
            codes.append("i")
        wide = size in ("l", "ll", "j", "z", "t")
        codes.append({"s": "s", "p": "Q", "c": "i"}.get(kind) or ("d" if kind in "eEfFgGaA" else (
            ("q" if wide else "i") if kind in "di" else ("Q" if wide else "I"))))
    return codes


def unpack(text: bytes, read, address: int) -> tuple:
    """The arguments in a va_list buffer: each at a multiple of its size. ``read(address, count)`` gives bytes, or text up to a
    zero for count None."""
    values, offset = [], 0
    for code in argument_layout(text):
        raw = "Q" if code == "s" else code
        size = struct.calcsize(raw)
        offset = -(-offset // size) * size
        value, = struct.unpack("<" + raw, read(address + offset, size))
        values.append(read(value, None) if code == "s" else value)
        offset += size
    return tuple(values)


HEAP_BYTES = 8 << 20         # CU_LIMIT_MALLOC_HEAP_SIZE of a real driver that nobody asked for more
MEMORY_SECTION = "CUDA C++ Programming Guide: Dynamic Global Memory Allocation and Operations"
SECTION = "CUDA C++ Programming Guide: Formatted Output; PTX ISA, Miscellaneous: trap"

register([
    WarpRow("call.vprintf", lambda warp, node: warp.calls.print_text(node), formatted, EXAMPLES, SECTION, "other",
            operands=lambda form: ("b64", "b64"), results=lambda form: ("b32",)),
    WarpRow("call.__assertfail", lambda warp, node: warp.calls.assert_failed(node), lambda form: None, ((),), SECTION, "other",
            operands=lambda form: ("b64", "b64", "b32", "b64", "b64"), results=lambda form: ()),
    WarpRow("call.cudaCGGetIntrinsicHandle", lambda warp, node: warp.calls.grid_handle(node), lambda form, scope: 1, ((1,),),
            "CUDA C++ Programming Guide: Cooperative Groups", "other", "uniform", operands=lambda form: ("b32",),
            results=lambda form: ("b64",)),
    WarpRow("call.cudaCGSynchronize", lambda warp, node: warp.warp.barrier_vote(node), lambda form, handle, flags: 0, ((1, 0),),
            "CUDA C++ Programming Guide: Cooperative Groups", "barrier", "uniform", operands=lambda form: ("b64", "b32"),
            results=lambda form: ("b32",)),
    WarpRow("call.malloc", lambda warp, node: warp.calls.allocate(node), lambda form, size: 0 < size < HEAP_BYTES,
            ((0,), (1,), (64,), (HEAP_BYTES + 1,)), MEMORY_SECTION, "other", operands=lambda form: ("b64",),
            results=lambda form: ("b64",)),
    WarpRow("call.free", lambda warp, node: warp.calls.release(node), lambda form: None, ((),), MEMORY_SECTION, "other",
            operands=lambda form: ("b64",), results=lambda form: ()),
    WarpRow("call.no_function", lambda warp, node: warp.calls.no_function(node), lambda form: None, ((),),
            "Control Flow Instructions: call", "other", operands=lambda form: (), results=lambda form: ()),
    WarpRow("{trap,brkpt}", lambda warp, node: warp.calls.trap(node), lambda form: None, ((),), SECTION, "other",
            operands=lambda form: ()),
])
