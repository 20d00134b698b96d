"""Counting bits, bit fields, and byte permutation."""
from __future__ import annotations

from simt.isa.integer import SECTION
from simt.isa.lowering import complement, low_mask, shifted
from simt.isa.numbers import edges_of, is_signed, mask, signed, unary_edges
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value


def count(name: str, *flags: str):
    """An LLVM bit count, as the 32-bit number that PTX gives."""
    return lambda b, form, x: b.resize(b.intrinsic(name, x.type, x, flags=flags), "i32")


def one_count(form: Form) -> tuple[str, ...]:
    return ("u32",)


def bfind(b: Builder, form: Form, x: Value) -> Value:
    """Of a negative number, the zeros count; without any, all ones."""
    if is_signed(form.type):
        x = b.binary("xor", x, b.binary("ashr", x, b.const(x.type, x.bits - 1)))
    leading = b.resize(b.intrinsic("ctlz", x.type, x, flags=("i1 false",)), "i32")
    if not form.has("shiftamt"):
        return b.binary("sub", b.const("i32", x.bits - 1), leading)
    none = b.compare("icmp eq", x, b.const(x.type, 0))
    return b.select(none, b.const("i32", -1), leading)


def bfind_oracle(form: Form, x: int) -> int:
    if is_signed(form.type) and signed(x, form.type) < 0:
        x ^= mask(form.type)
    if x == 0:
        return 0xFFFFFFFF
    return form.bits - x.bit_length() if form.has("shiftamt") else x.bit_length() - 1


def byte_of(b: Builder, x: Value) -> Value:
    """Field positions and lengths count modulo 256."""
    return b.binary("and", x, b.const("i32", 255))


def bfe(b: Builder, form: Form, x: Value, position: Value, length: Value) -> Value:
    position, length = byte_of(b, position), byte_of(b, length)
    field_mask = low_mask(b, length, x.type)
    if not is_signed(form.type):
        return b.binary("and", shifted(b, "lshr", x, position), field_mask)
    # Beyond the field its top bit repeats; an arithmetic shift repeats the top bit of x by itself.
    low = b.binary("and", shifted(b, "ashr", x, position), field_mask)
    sign = shifted(b, "shl", b.const(x.type, 1), b.binary("sub", length, b.const("i32", 1)))
    return b.binary("sub", b.binary("xor", low, sign), sign)


def bfe_oracle(form: Form, x: int, position: int, length: int) -> int:
    position, length = position % 256, length % 256
    number = signed(x, form.type) if is_signed(form.type) else x
    field = number >> position & (1 << length) - 1
    if is_signed(form.type) and length and field >> length - 1:
        field -= 1 << length
    return field & mask(form.type)


def bfi(b: Builder, form: Form, x: Value, y: Value, position: Value, length: Value) -> Value:
    position, length = byte_of(b, position), byte_of(b, length)
    place = shifted(b, "shl", low_mask(b, length, x.type), position)
    inserted = b.binary("and", shifted(b, "shl", x, position), place)
    return b.binary("or", b.binary("and", y, complement(b, place)), inserted)


def bfi_oracle(form: Form, x: int, y: int, position: int, length: int) -> int:
    position, length = position % 256, length % 256
    for bit in range(length):
        place = position + bit
        y = y & ~(1 << place) | (x >> bit & 1) << place
    return y & mask(form.type)


FIELDS = ((0, 0), (0, 1), (0, 32), (31, 1), (4, 8), (16, 16), (30, 5), (32, 8), (60, 8), (0, 64), (63, 1), (64, 4),
          (255, 255), (256 + 4, 256 + 8), (0, 255), (33, 31))


def field_edges(form: Form) -> tuple:
    operands = 2 if form.parts[0] == "bfi" else 1
    values = edges_of(form.type)[:6]
    return tuple((*(values + values)[start:start + operands], *field) for start in range(6) for field in FIELDS)


def field_types(form: Form) -> tuple[str, ...]:
    return (*(form.type,) * (2 if form.parts[0] == "bfi" else 1), "u32", "u32")


# Which of the bytes 0-7 of {y, x} byte ``i`` takes, given the two selector bits, in each mode of prmt.
MODES = {
    "f4e": lambda selector, i: selector + i,
    "b4e": lambda selector, i: (selector - i) % 8,
    "rc8": lambda selector, i: selector,
    "ecl": lambda selector, i: max(selector, i),
    "ecr": lambda selector, i: min(selector, i),
    "rc16": lambda selector, i: selector % 2 * 2 + i % 2,
}


def prmt(b: Builder, form: Form, x: Value, y: Value, control: Value) -> Value:
    """Four bytes picked from the eight of {y, x}, each by a nibble whose top bit asks for the byte's sign instead."""
    if form.type in MODES:
        control = nibbles(b, form.type, control)
    pair = b.binary("or", b.resize(x, "i64"), b.binary("shl", b.resize(y, "i64"), b.const("i64", 32)))
    whole = b.const("i32", 0)
    for i in range(4):
        nibble = b.binary("lshr", control, b.const("i32", 4 * i))
        number = b.resize(b.binary("and", nibble, b.const("i32", 7)), "i64")
        picked = b.binary("lshr", pair, b.binary("shl", number, b.const("i64", 3)))
        byte = b.resize(picked, "i8")
        asks = b.compare("icmp ne", b.binary("and", nibble, b.const("i32", 8)), b.const("i32", 0))
        byte = b.select(asks, b.binary("ashr", byte, b.const("i8", 7)), byte)
        whole = b.binary("or", whole, b.binary("shl", b.resize(byte, "i32"), b.const("i32", 8 * i)))
    return whole


def nibbles(b: Builder, mode: str, control: Value) -> Value:
    """The generic control word that a mode's two selector bits stand for."""
    words = [b.const("i32", sum(MODES[mode](selector, i) << 4 * i for i in range(4))) for selector in range(4)]
    low = b.compare("icmp ne", b.binary("and", control, b.const("i32", 1)), b.const("i32", 0))
    high = b.compare("icmp ne", b.binary("and", control, b.const("i32", 2)), b.const("i32", 0))
    return b.select(high, b.select(low, words[3], words[2]), b.select(low, words[1], words[0]))


# The rows of the ISA's table of modes, most significant byte first, by selector
PRMT_TABLE = {
    "f4e": ("3210", "4321", "5432", "6543"), "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"), "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"), "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt_oracle(form: Form, x: int, y: int, control: int) -> int:
    source = (x | y << 32).to_bytes(8, "little")
    if form.type in PRMT_TABLE:
        return int.from_bytes(bytes(source[int(digit)] for digit in PRMT_TABLE[form.type][control % 4]), "big")
    result = bytearray()
    for i in range(4):
        nibble = control >> 4 * i & 15
        byte = source[nibble & 7]
        result.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
    return int.from_bytes(result, "little")


def prmt_edges(form: Form) -> tuple:
    controls = (0x3210, 0x7654, 0x0123, 0xBA98, 0xFEDC, 0x8080, 0x5410, 0x7632, 0, 1, 2, 3, 0xFFFFFFFF, 0x10000)
    words = ((0x83828180, 0x07060504), (0x03027F80, 0xF7867574))
    return tuple((*pair, control) for pair in words for control in controls)


def rows():
    yield Row("popc.{b32,b64}", count("ctpop"), lambda form, x: x.bit_count(), unary_edges, SECTION + "popc", "int",
              inputs=1, results=one_count)
    yield Row("clz.{b32,b64}", count("ctlz", "i1 false"), lambda form, x: form.bits - x.bit_length(), unary_edges,
              SECTION + "clz", "int", inputs=1, results=one_count)
    yield Row("brev.{b32,b64}", lambda b, form, x: b.intrinsic("bitreverse", x.type, x),
              lambda form, x: int(f"{x:0{form.bits}b}"[::-1], 2), unary_edges, SECTION + "brev", "int", inputs=1)
    yield Row("bfind{,.shiftamt}.{s32,u32,s64,u64}", bfind, bfind_oracle, unary_edges, SECTION + "bfind", "int",
              inputs=1, results=one_count)
    yield Row("bfe.{s32,u32,s64,u64}", bfe, bfe_oracle, field_edges, SECTION + "bfe", "int", operands=field_types)
    yield Row("bfi.{b32,b64}", bfi, bfi_oracle, field_edges, SECTION + "bfi", "int", operands=field_types)
    yield Row("prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", prmt, prmt_oracle, prmt_edges,
              "Data Movement and Conversion Instructions: prmt", "int",
              operands=lambda form: ("b32",) * 3, results=lambda form: ("b32",))


register(rows())
