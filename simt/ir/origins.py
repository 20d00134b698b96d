"""Where an address comes from: the parameter or the variable that it is an offset from.

A walk against the flow of values, over what leaves a pointer a pointer: sums, copies, conversions between state spaces,
choices. For the diagnosis of a fault: the address alone cannot tell which array a stray index belongs to.
"""
from __future__ import annotations

from simt.ir.blocks import Node, Phi
from simt.ir.ssa import Values
from simt.ptx.statements import Address, Operand, Reg, Symbol

LIMIT = 4096                # values looked at
# Operands that may hold the pointer.
CARRIERS = {"mov": (0,), "cvta": (0,), "cvt": (0,), "add": (0, 1), "or": (0, 1), "sub": (0,), "mad": (2,), "selp": (0, 1)}


def origins(values: Values, operand: Operand) -> frozenset[Symbol]:
    """Parameters and variables that an address operand may be based on; offsets of parameters are those of ``ld.param``.

    Values that only count (an index, a stride) stay in the answer if they are parameters: the caller knows what is a pointer.
    """
    found, seen, waiting = set(), set(), [operand]
    while waiting and len(seen) < LIMIT:
        one = waiting.pop()
        if isinstance(one, Address):
            one = one.base
        if isinstance(one, Symbol):
            found.add(Symbol(one.name))
        elif isinstance(one, Reg) and one.name not in seen:
            seen.add(one.name)
            waiting += before(values.node.get(one.name), found)
    return frozenset(found)


def before(node: Node | Phi | None, found: set[Symbol]) -> list[Operand]:
    """The operands behind a definition; a parameter that it loads goes into ``found``."""
    if isinstance(node, Phi):
        return [Reg(name) for name in node.incoming.values() if name]
    if node is None:
        return []
    if node.opcode.startswith("ld.param"):
        address = node.operands[0]
        if isinstance(address, Address) and isinstance(address.base, Symbol):
            found.add(Symbol(address.base.name, address.base.offset + address.offset))
        return []
    return [node.operands[k] for k in CARRIERS.get(node.base, ()) if k < len(node.operands)]
