"""Loads, stores, atomics, fences and address conversions.

The oracle of this group gives the value that one lane reads or leaves in memory.
"""
from __future__ import annotations

from simt.isa.table import Form, WarpRow, register

TYPES = "{b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f16,f32,f64}"
ORDER = "{,.volatile,.weak,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys}"
STORE_ORDER = "{,.volatile,.weak,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys}"
ATOM_ORDER = "{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.gpu,.sys}"
COMMON = "{,.global,.shared,.const}"       # spaces in which one address means one cell for all lanes
WRITABLE = "{,.global,.shared,.local}"
PATTERNS = (0, 1, 0x7F, 0x80, 0x8001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x0123456789ABCDEF)


def elements(form: Form) -> int:
    return 4 if form.has("v4") else 2 if form.has("v2") else 1


def loaded(form: Form) -> tuple[str, ...]:
    return (form.type,) * elements(form)


def keep(form: Form, value: int) -> int:
    """A load or store moves the low bits of its type."""
    return value & ((1 << form.bits) - 1)


def signed(bits: int, value: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def updated(form: Form, old: int, value: int, swap: int = 0) -> int:
    """What an atomic leaves in memory, from unsigned bit patterns (floating add: the test adds in Python)."""
    bits, mask = form.bits, (1 << form.bits) - 1
    pick = min if form.has("min") else max
    if form.has("min") or form.has("max"):
        return (pick(signed(bits, old), signed(bits, value)) & mask) if form.type[0] == "s" else pick(old, value)
    if form.has("cas"):
        return swap if old == value else old
    if form.has("inc"):
        return 0 if old >= value else old + 1
    if form.has("dec"):
        return value if old == 0 or old > value else old - 1
    if form.has("exch"):
        return value
    operation = {"add": old + value, "and": old & value, "or": old | value, "xor": old ^ value}
    return next(operation[name] for name in operation if form.has(name)) & mask


def load(warp, node) -> None:
    warp.memory.load(node)


def store(warp, node) -> None:
    warp.memory.store(node)


def atomic(warp, node) -> None:
    warp.warp.atomic(node)


ATOMIC = "Parallel Synchronization and Communication: "
ATOM_FORMS = (".add.{u32,s32,u64,s64,f32,f64}", ".{min,max}.{u32,s32,u64,s64}", ".{and,or,xor}.{b32,b64}")

register([
    WarpRow("ld" + ORDER + COMMON + "{,.v2,.v4}." + TYPES, load, keep, PATTERNS,
            "Data Movement and Conversion: ld", "load", "address", results=loaded),
    WarpRow("ld" + ORDER + ".local{,.v2,.v4}." + TYPES, load, keep, PATTERNS,
            "Data Movement and Conversion: ld", "load", results=loaded),
    WarpRow("ld{.global.nc,.param}{,.v2,.v4}." + TYPES, load, keep, PATTERNS,
            "Data Movement and Conversion: ld.global.nc", "load", "address", results=loaded),
    WarpRow("st" + STORE_ORDER + WRITABLE + "{,.v2,.v4}." + TYPES, store, keep, PATTERNS,
            "Data Movement and Conversion: st", "store"),
    *(WarpRow("atom" + ATOM_ORDER + "{,.global,.shared}" + forms, atomic, updated, PATTERNS, ATOMIC + "atom", "atomic")
      for forms in (*ATOM_FORMS, ".{exch,cas}.{b32,b64}", ".{inc,dec}.u32")),
    *(WarpRow("red" + ATOM_ORDER + "{,.global,.shared}" + forms, atomic, updated, PATTERNS, ATOMIC + "red", "atomic")
      for forms in (*ATOM_FORMS, ".{inc,dec}.u32")),
    WarpRow("membar.{cta,gl,sys}", lambda warp, node: warp.warp.fence(node), lambda form: None, ((),), ATOMIC + "membar",
            "other"),
    WarpRow("fence{,.sc,.acq_rel}.{cta,gpu,sys}", lambda warp, node: warp.warp.fence(node), lambda form: None, ((),),
            ATOMIC + "fence", "other"),
    WarpRow("cvta{,.to}.{global,shared,const}.u64", lambda warp, node: warp.warp.convert_address(node),
            lambda form, address: address, ((0,), (256,)), "Data Movement and Conversion: cvta", "int", "copy"),
    WarpRow("cvta{,.to}.local.u64", lambda warp, node: warp.warp.convert_address(node),
            lambda form, address: address, ((0,), (256,)), "Data Movement and Conversion: cvta", "int"),
    WarpRow("isspacep.{global,shared,local}", lambda warp, node: warp.warp.in_space(node),
            lambda form, space: form.has(space), (("global",), ("shared",), ("local",)),
            "Data Movement and Conversion: isspacep", "logic", results=lambda form: ("pred",), operands=lambda form: ("u64",)),
    WarpRow("nanosleep.u32", lambda warp, node: warp.warp.nothing(node), lambda form: None, ((),),
            "Miscellaneous: nanosleep", "other"),
])
