"""A reference: PTX run thread by thread in plain Python, with the oracles of the instruction table."""
from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from simt.ir.program import Kernel, analyse_kernel
from simt.isa import bits_of, find
from simt.isa.numbers import decode, encode
from simt.ptx import parse
from simt.ptx.statements import Imm, Instruction, Label, Operand, Symbol, type_bytes

STEP_LIMIT = 20_000


class Thread:
    """One thread of a kernel: registers hold bit patterns. ``arrays`` are the arguments; address k << 32 is the start of array
    k."""

    def __init__(self, function, special: dict[str, int], arrays: list):
        self.function, self.special, self.arrays = function, special, arrays
        self.registers: dict[str, int] = {}
        self.steps = 0

    def run(self) -> None:
        body = self.function.body
        labels = {statement.name: at for at, statement in enumerate(body) if isinstance(statement, Label)}
        at = 0
        while at < len(body):
            statement = body[at]
            at += 1
            if isinstance(statement, Label) or not self.holds(statement):
                continue
            base = statement.opcode.split(".")[0]
            if base in ("ret", "exit"):
                return
            if base == "bra":
                at = labels[statement.operands[0].name]
            else:
                self.step(statement)
            self.steps += 1
            assert self.steps < STEP_LIMIT, "the generated program does not end"

    def holds(self, statement: Instruction) -> bool:
        return statement.guard is None or bool(self.registers.get(statement.guard, 0)) != statement.negated

    def step(self, statement: Instruction) -> None:
        row, form = find(statement.opcode)
        if row.kind in ("load", "store"):
            self.access(statement, form)
            return
        targets, *sources = statement.operands
        kinds = row.operand_types(form)
        operands = [decode(self.value(source, kind), kind) for source, kind in zip(sources, kinds, strict=True)]
        said = row.oracle(form, *operands)
        kind = row.result_types(form)[0]
        self.write(targets.name, encode(said[0] if isinstance(said, tuple) else said, kind), kind)

    def value(self, operand: Operand, kind: str) -> int:
        if isinstance(operand, Imm):
            found = operand.bits
        else:
            found = self.special[operand.name] if operand.name in self.special else self.registers.get(operand.name, 0)
        return found & (1 << bits_of(kind)) - 1

    def write(self, name: str, pattern: int, kind: str) -> None:
        """Extend to the register by the signedness of the type."""
        bits, wide = bits_of(kind), bits_of(self.function.register_type(name))
        if kind[0] == "s" and pattern >> (bits - 1):
            pattern |= (1 << wide) - (1 << bits)
        self.registers[name] = pattern & (1 << wide) - 1

    def access(self, statement: Instruction, form) -> None:
        size = type_bytes(form.type)
        place = statement.operands[0 if form.parts[0] == "st" else 1]
        if isinstance(place.base, Symbol):
            index = int(place.base.name[1:])
            argument = self.arrays[index]
            self.write(statement.operands[0].name, argument if isinstance(argument, int) else index << 32, "u64")
            return
        address = self.value(place.base, "u64") + place.offset
        raw = self.arrays[address >> 32].reshape(-1).view(np.uint8)
        at = address & 0xFFFFFFFF
        if form.parts[0] == "st":
            raw[at:at + size] = np.frombuffer(self.value(statement.operands[1], form.type).to_bytes(size, "little"), np.uint8)
        else:
            self.write(statement.operands[0].name, int.from_bytes(raw[at:at + size].tobytes(), "little"), form.type)


@pytest.fixture(scope="session")
def reference() -> Callable[..., int]:
    """reference(kernel, *arguments, grid, block): run a kernel of the bench in plain Python; returns the statements executed.

    Threads run one after the other: kernels in which they exchange values are not for it.
    """
    def run(kernel, *arguments: np.ndarray | int, grid=(1, 1, 1), block=(32, 1, 1)) -> int:
        function, steps = kernel.program.module.functions["kernel"], 0
        for ctaid in itertools.product(*map(range, reversed(grid))):
            for linear, tid in enumerate(itertools.product(*map(range, reversed(block)))):
                special = {f"%{name}.{axis}": values["xyz".index(axis)] for axis in "xyz" for name, values in (
                    ("tid", tid[::-1]), ("ctaid", ctaid[::-1]), ("ntid", block), ("nctaid", grid))}
                thread = Thread(function, special | {"%laneid": linear % 32}, list(arguments))
                thread.run()
                steps += thread.steps
        return steps

    return run




@pytest.fixture(scope="session")
def analysed() -> Callable[..., Kernel]:
    """analysed(body, block): the analysis of a kernel with arguments %a0, %a1 and the registers of the bench."""
    def run(body: str, block: tuple[int, int, int] = (32, 1, 1)) -> Kernel:
        text = (".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 p0, .param .u64 p1)\n{\n"
                ".reg .pred %p<20>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<20>; .reg .b64 %a<2>;\n"
                f"ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p1];\n{body}\nret;\n}}\n")
        return analyse_kernel(parse(text).functions["kernel"], block)

    return run
