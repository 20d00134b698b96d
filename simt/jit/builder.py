"""Writes LLVM IR as text, for one lane or for a vector of lanes: the same calls serve both.

Rows of simt/isa receive a Builder and speak lane types only ("i32", "float", "i1"); whether an instruction works on a
scalar or on ``<16 x i32>`` is decided by ``lanes``. Text plus parse_assembly is the fastest way into llvmlite's LLVM.
"""
from __future__ import annotations

import dataclasses
import struct

IR_TYPE = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "b32": "i32",
    "u32": "i32", "s32": "i32", "b64": "i64", "u64": "i64", "s64": "i64", "f16": "half", "f32": "float", "f64": "double",
    "f16x2": "i32", "bf16": "i16", "bf16x2": "i32", "b128": "i128",
}
IR_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64}
SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """An IR value: the type of one lane, and its text ("%t7", or a lane constant such as "5")."""

    type: str
    text: str

    @property
    def bits(self) -> int:
        return IR_BITS[self.type]


class Text:
    """The function body being written: lines, fresh names, and the intrinsics that need declaring."""

    def __init__(self):
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.counter = 0

    def name(self, stem: str = "t") -> str:
        self.counter += 1
        return f"%{stem}{self.counter}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def define(self, expression: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh_label(self, stem: str = "L") -> str:
        self.counter += 1
        return f"{stem}.{self.counter}"

    def declare(self, name: str, result: str, arguments: tuple[str, ...]) -> str:
        self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"
        return f"@{name}"


class Builder:
    """IR operations on ``lanes`` lanes at once (1: a scalar)."""

    def __init__(self, text: Text, lanes: int = 1):
        self.text, self.lanes = text, lanes

    def full(self, lane_type: str) -> str:
        """The IR type of a value of this builder: "i32" or "<16 x i32>"."""
        return lane_type if self.lanes == 1 else f"<{self.lanes} x {lane_type}>"

    def ref(self, value: Value) -> str:
        """An operand's text: constants are splat over the lanes."""
        if self.lanes == 1 or value.text.startswith(("%", "<", "splat", "zero", "poison")):
            return value.text
        return f"splat ({value.type} {value.text})"

    def typed(self, value: Value) -> str:
        return f"{self.full(value.type)} {self.ref(value)}"

    def const(self, lane_type: str, number: int | float) -> Value:
        """A constant in every lane. Floats may be given as Python numbers (nan and inf too)."""
        if lane_type in ("float", "double", "half"):
            return Value(lane_type, float_text(lane_type, float(number)))
        if lane_type == "i1":
            return Value("i1", "true" if number else "false")
        bits = IR_BITS[lane_type]
        number &= (1 << bits) - 1
        return Value(lane_type, str(number - (1 << bits) if number >> (bits - 1) else number))

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """``add``, ``fmul``, ``ashr``, …; flags may follow the name: "add nsw"."""
        return Value(x.type, self.text.define(f"{op} {self.full(x.type)} {self.ref(x)}, {self.ref(y)}"))

    def unary(self, op: str, x: Value) -> Value:
        return Value(x.type, self.text.define(f"{op} {self.typed(x)}"))

    def compare(self, op: str, x: Value, y: Value) -> Value:
        """``icmp slt``, ``fcmp olt``, … -> i1."""
        return Value("i1", self.text.define(f"{op} {self.full(x.type)} {self.ref(x)}, {self.ref(y)}"))

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        return Value(x.type, self.text.define(f"select {self.typed(condition)}, {self.typed(x)}, {self.typed(y)}"))

    def cast(self, op: str, x: Value, lane_type: str) -> Value:
        """``zext``, ``sext``, ``trunc``, ``bitcast``, ``fpext``, ``sitofp``, …; a cast to the same type is free."""
        if x.type == lane_type:
            return x
        return Value(lane_type, self.text.define(f"{op} {self.typed(x)} to {self.full(lane_type)}"))

    def resize(self, x: Value, lane_type: str, signed: bool = False) -> Value:
        """Integer truncation or extension to ``lane_type``."""
        op = "trunc" if IR_BITS[lane_type] < x.bits else ("sext" if signed else "zext")
        return self.cast(op, x, lane_type)

    def intrinsic(self, name: str, result: str, *args: Value, flags: tuple[str, ...] = (),
                  overload: tuple[str, ...] = ()) -> Value:
        """Call ``llvm.NAME``; overload types default to the first argument's. ``flags``: literal extra operands ("i1 true")."""
        types = overload or (args[0].type,)
        whole = "llvm." + ".".join((name, *(self.suffix(t) for t in types)))
        full = tuple(self.full(a.type) for a in args)
        symbol = self.text.declare(whole, self.full(result), full + tuple(f.split()[0] for f in flags))
        operands = ", ".join([*(self.typed(a) for a in args), *flags])
        return Value(result, self.text.define(f"call {self.full(result)} {symbol}({operands})"))

    def suffix(self, lane_type: str) -> str:
        scalar = SUFFIX.get(lane_type, lane_type)
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"


def float_text(lane_type: str, number: float) -> str:
    """LLVM's exact spelling of a floating constant: the bits of the double (half: its own 16 bits)."""
    if lane_type == "half":
        return "0xH" + struct.pack(">e", number).hex().upper()
    if lane_type == "float":
        number = struct.unpack("f", struct.pack("f", number))[0] if abs(number) < 3.5e38 else number
    return "0x" + struct.pack(">d", number).hex().upper()
