"""Compare-and-swap loops, and the loads that begin them.

What the hardware has no atomic for, such as the maximum of two floats, is a loop: load the word, compute, and swap if the word
still holds what was loaded (CUDA C++ Programming Guide, "Atomic Functions"). The load is free to see an old value.
"""
from __future__ import annotations

from simt.ir.blocks import Node, Phi
from simt.ir.order import Order
from simt.ir.ssa import Values
from simt.ptx.statements import Address, Operand, Reg

COPIES = {"mov": (0,), "cvt": (0,), "cvta": (0,)}
CHOICES = COPIES | {"selp": (0, 1)}


def first_guesses(order: Order, values: Values) -> frozenset[Node]:
    """Loads whose value a compare-and-swap of the same word compares with."""
    swaps = [node for block in order.blocks for node in block.nodes if node.base == "atom" and ".cas." in node.opcode]
    return frozenset(load for swap in swaps for load in loads_behind(values, swap.operands[1])
                     if place(values, load.operands[0]) == place(values, swap.operands[0]))


def loads_behind(values: Values, operand: Operand) -> list[Node]:
    """Loads from which the value may come unchanged."""
    found, seen, waiting = [], set(), [operand]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, Reg) or one.name in seen:
            continue
        seen.add(one.name)
        node = values.node.get(one.name)
        if isinstance(node, Phi):
            waiting += [Reg(name) for name in node.incoming.values() if name]
        elif node is not None and node.base == "ld":
            found.append(node)
        elif node is not None:
            waiting += [node.operands[k] for k in CHOICES.get(node.base, ()) if k < len(node.operands)]
    return found


def place(values: Values, operand: Operand) -> tuple[Operand, int]:
    """(register or symbol that an address was first in, offset)."""
    base, offset = (operand.base, operand.offset) if isinstance(operand, Address) else (operand, 0)
    while isinstance(base, Reg):
        node = values.node.get(base.name)
        if not isinstance(node, Node) or node.base not in COPIES or node.guard:
            break
        base = node.operands[0]
    return base, offset
