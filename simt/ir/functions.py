"""Device functions as values: their addresses, and which of them a pointer may hold."""
from __future__ import annotations

from collections.abc import Iterator

from simt.ptx.statements import Address, Instruction, Module, Operand, Symbol, Vector

FIRST, STEP = 16, 16        # addresses that no memory has: the lowest pages of a process stay unmapped


def addresses(module: Module) -> dict[str, int]:
    """The address of each device function that has a body."""
    names = sorted(f.name for f in module.functions.values() if f.body is not None and not f.is_entry)
    return {name: FIRST + STEP * index for index, name in enumerate(names)}


def taken(module: Module) -> set[str]:
    """Names that something other than a direct call mentions: what a function pointer may point to."""
    found = {item.name for variable in module.variables.values() for item in variable.initial or () if isinstance(item, Symbol)}
    for function in module.functions.values():
        for statement in function.body or ():
            if isinstance(statement, Instruction) and statement.opcode.split(".")[0] != "call":
                found.update(symbols(statement.operands))
    return found


def symbols(operands: tuple[Operand, ...]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, Symbol):
            yield operand.name
        elif isinstance(operand, Address):
            yield from symbols((operand.base,))
        elif isinstance(operand, Vector):
            yield from symbols(operand.items)
