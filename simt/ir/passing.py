"""Arguments and results of inlined calls: ``st.param`` and ``ld.param`` become moves between registers.

Each piece of a param variable that is stored has a register. A load may ask for less than a store gave (a flag stored as 32
bits, read as 8) or for more; it then cuts, or puts together, what was stored: param space is memory (PTX ISA, "Parameter
State Space").
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from simt.isa.table import Unsupported, bits_of
from simt.ptx.statements import Address, Imm, Instruction, Operand, Reg, Symbol, Vector


class Passing:
    """stored: param variable -> the (byte offset, bits) of its pieces, in the order of the code"""

    def __init__(self, registers: dict[str, str]):
        self.registers = registers
        self.stored: dict[str, list[tuple[int, int]]] = {}
        self.serial = 0

    def moves(self, statement: Instruction) -> Iterator[Instruction]:
        """``st.param`` or ``ld.param`` of a call."""
        parts = statement.opcode.split(".")
        storing = parts[0] == "st"
        address, value = statement.operands if storing else statement.operands[::-1]
        items = value.items if isinstance(value, Vector) else (value,)
        variable, start, width = address.base.name, address.base.offset + address.offset, bits_of(parts[-1])
        for index, item in enumerate(items):
            offset = start + index * width // 8
            if storing:
                place = Reg(self.store(variable, offset, width))
                yield dataclasses.replace(statement, opcode=move_of(width), operands=(place, item))
            else:
                yield from self.load(statement, variable, offset, parts[-1], item)

    def store(self, variable: str, offset: int, width: int) -> str:
        """The register of a piece that is written."""
        pieces = self.stored.setdefault(variable, [])
        if (offset, width) not in pieces:
            pieces.append((offset, width))
        return self.piece(variable, offset, width)

    def piece(self, variable: str, offset: int, width: int) -> str:
        name = f"%param_{variable.replace('.', '_').replace('%', '_')}_{offset}_{width}p"
        self.registers.setdefault(name, f"b{width}")
        return name

    def fresh(self, width: int) -> Reg:
        self.serial += 1
        name = f"%passed{self.serial}_{width}p"
        self.registers[name] = f"b{width}"
        return Reg(name)

    def load(self, statement: Instruction, variable: str, offset: int, ptx_type: str, item: Operand) -> Iterator[Instruction]:
        """Give ``item`` what lies at an offset of a variable."""
        def step(opcode: str, *operands: Operand) -> Instruction:
            return dataclasses.replace(statement, opcode=opcode, operands=operands)

        width, pieces = bits_of(ptx_type), self.stored.get(variable, [])
        end = offset + width // 8
        around = [(o, w) for o, w in pieces if o <= offset and end <= o + w // 8]
        inside = sorted((o, w) for o, w in pieces if offset <= o and o + w // 8 <= end)
        if not pieces:                      # numba reads a result of functions that return none
            yield step(move_of(width), item, Imm(0))
        elif (offset, width) in pieces:
            yield step(move_of(width), item, Reg(self.piece(variable, offset, width)))
        elif around:
            start, whole = around[-1]
            yield from self.cut(step, Reg(self.piece(variable, start, whole)), whole, 8 * (offset - start), ptx_type, item)
        elif sum(w for _, w in inside) == width:
            parts = [(Reg(self.piece(variable, o, w)), w, 8 * (o - offset)) for o, w in inside]
            yield from self.put_together(step, parts, width, item)
        else:
            raise Unsupported(f"a read of {width // 8} bytes of {variable}, which no store before it covers", statement.line)

    def cut(self, step, source: Reg, whole: int, shift: int, ptx_type: str, item: Operand) -> Iterator[Instruction]:
        """A part of a wider piece, from bit ``shift`` on."""
        width = bits_of(ptx_type)
        if shift:
            shifted = self.fresh(whole)
            yield step(f"shr.u{whole}", shifted, source, Imm(shift))
            source = shifted
        if ptx_type[0] in "us":             # extended into a wider register, by its sign
            yield step(f"cvt.{ptx_type}.{ptx_type[0]}{whole}", item, source)
            return
        part = self.fresh(width)
        yield step(f"cvt.u{width}.u{whole}", part, source)
        yield step(move_of(width), item, part)

    def put_together(self, step, parts: list[tuple[Reg, int, int]], width: int, item: Operand) -> Iterator[Instruction]:
        """A value of ``width`` bits from pieces: (register, bits, from which bit on)."""
        total = Reg("")
        for source, bits, shift in parts:
            wide = self.fresh(width)
            yield step(f"cvt.u{width}.u{bits}", wide, source)
            if shift:
                moved = self.fresh(width)
                yield step(f"shl.b{width}", moved, wide, Imm(shift))
                joined = self.fresh(width)
                yield step(f"or.b{width}", joined, total, moved)
                wide = joined
            total = wide
        yield step(move_of(width), item, total)


def is_param_access(statement: Instruction) -> bool:
    parts = statement.opcode.split(".")
    return parts[0] in ("ld", "st") and "param" in parts


def base_name(statement: Instruction) -> str | None:
    address = next((o for o in statement.operands if isinstance(o, Address)), None)
    return address.base.name if address is not None and isinstance(address.base, Symbol) else None


def move_of(bits: int) -> str:
    """An opcode that copies so many bits."""
    return f"mov.b{max(bits, 16)}"
