"""``mov`` between a register and a braced list: the parts of a wider value, lowest first.

PTX spells both as ``mov.b64``; ``{%r1, %r2}`` on the left unpacks, on the right packs. The table tells them apart by the
names ``unpack2.b64`` and ``pack2.b64``.
"""
from __future__ import annotations

from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

SECTION = "Data Movement and Conversion Instructions: mov"
WORDS = (0, 1, 0x8000, 0xFFFF, 0x0123, 0x8000_0001, 0xFFFF_FFFF, 0x0123_4567_89AB_CDEF, 0xFFFF_FFFF_FFFF_FFFF)


def count(form: Form) -> int:
    return int(form.parts[0][-1])


def part_bits(form: Form) -> int:
    return form.bits // count(form)


def part_types(form: Form) -> tuple[str, ...]:
    return (f"b{part_bits(form)}",) * count(form)


def pack(b: Builder, form: Form, *parts: Value) -> Value:
    whole = b.const(f"i{form.bits}", 0)
    for index, part in enumerate(parts):
        wide = b.resize(part, f"i{form.bits}")
        if index:
            wide = b.binary("shl", wide, b.const(wide.type, index * part_bits(form)))
        whole = b.binary("or", whole, wide)
    return whole


def unpack(b: Builder, form: Form, whole: Value) -> tuple[Value, ...]:
    found = []
    for index in range(count(form)):
        part = b.binary("lshr", whole, b.const(whole.type, index * part_bits(form))) if index else whole
        found.append(b.resize(part, f"i{part_bits(form)}"))
    return tuple(found)


def packed(form: Form, *parts: int) -> int:
    return sum(part << index * part_bits(form) for index, part in enumerate(parts))


def unpacked(form: Form, whole: int) -> tuple[int, ...]:
    return tuple(whole >> index * part_bits(form) & (1 << part_bits(form)) - 1 for index in range(count(form)))


def part_edges(form: Form) -> list[tuple[int, ...]]:
    mask = (1 << part_bits(form)) - 1
    return [tuple((word >> k) & mask for k in range(count(form))) for word in WORDS]


def whole_edges(form: Form) -> list[tuple[int]]:
    return [(word & (1 << form.bits) - 1,) for word in WORDS]


FORMS = "{2.b16,2.b32,4.b32,2.b64,4.b64}"

register([
    Row("pack" + FORMS, pack, packed, part_edges, SECTION, "logic", operands=part_types),
    Row("unpack" + FORMS, unpack, unpacked, whole_edges, SECTION, "logic", inputs=1, results=part_types),
])
