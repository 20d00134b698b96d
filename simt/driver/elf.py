"""A shared object made in memory that exports addresses which already exist in this process.

It holds no machine code: a dynamic section with a SONAME and symbols of section SHN_ABS, whose value is the address.
A later ``dlopen`` of the same SONAME finds it instead of searching the disk. Layout: System V ABI, "Object Files".
"""
from __future__ import annotations

import ctypes
import os
import platform
import struct

MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine: EM_X86_64, EM_AARCH64

_EHDR_BYTES, _PHDR_BYTES, _SYM_BYTES = 64, 56, 24
_ET_DYN, _PT_LOAD, _PT_DYNAMIC, _PF_READ_WRITE = 3, 1, 2, 6
_DT_NULL, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_SONAME = 0, 4, 5, 6, 10, 11, 14
_STB_GLOBAL_STT_FUNC = 1 << 4 | 2
_SHN_ABS = 0xFFF1


def load(soname: str, symbols: dict[str, int]) -> ctypes.CDLL:
    """Map a shared object that exports ``symbols`` (name -> address) under ``soname`` for the whole process."""
    file = os.memfd_create(soname)
    try:
        os.write(file, build(soname, symbols))
        return ctypes.CDLL(f"/proc/self/fd/{file}", mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    finally:
        os.close(file)


def build(soname: str, symbols: dict[str, int], machine: str | None = None) -> bytes:
    """The bytes of that shared object; ``machine`` is a name of ``platform.machine()``, by default this one."""
    names = bytearray(b"\0")
    soname_offset = _add_name(names, soname)
    offsets = [_add_name(names, name) for name in symbols]
    table = bytes(_SYM_BYTES) + b"".join(
        struct.pack("<IBBHQQ", offset, _STB_GLOBAL_STT_FUNC, 0, _SHN_ABS, address, 0)
        for offset, address in zip(offsets, symbols.values(), strict=True)
    )
    hash_table = _one_bucket_hash(len(symbols))
    at_table = _EHDR_BYTES + 2 * _PHDR_BYTES
    at_hash = at_table + len(table)
    at_dynamic = -(-(at_hash + len(hash_table)) // 8) * 8
    dynamic_bytes = 7 * 16
    at_names = at_dynamic + dynamic_bytes
    end = at_names + len(names)
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in (
            (_DT_SONAME, soname_offset), (_DT_HASH, at_hash), (_DT_STRTAB, at_names), (_DT_SYMTAB, at_table),
            (_DT_STRSZ, len(names)), (_DT_SYMENT, _SYM_BYTES), (_DT_NULL, 0),
        )
    )
    head = _header(MACHINES[machine or platform.machine()]) + _segments(end, at_dynamic, dynamic_bytes)
    body = head + table + hash_table
    return body.ljust(at_dynamic, b"\0") + dynamic + bytes(names)


def _add_name(names: bytearray, name: str) -> int:
    offset = len(names)
    names += name.encode() + b"\0"
    return offset


def _one_bucket_hash(count: int) -> bytes:
    """A DT_HASH table with one bucket: a chain through symbols 1 to ``count``, so no hash needs computing."""
    chain = [0, *range(2, count + 1), 0][: count + 1]
    return struct.pack(f"<III{count + 1}I", 1, count + 1, 1 if count else 0, *chain)


def _header(machine: int) -> bytes:
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)  # 64 bits, little-endian, version 1
    return identity + struct.pack(
        "<HHIQQQIHHHHHH", _ET_DYN, machine, 1, 0, _EHDR_BYTES, 0, 0, _EHDR_BYTES, _PHDR_BYTES, 2, 64, 0, 0
    )


def _segments(end: int, at_dynamic: int, dynamic_bytes: int) -> bytes:
    # The loader writes relocated addresses into the dynamic section, so the one loaded segment is writable.
    load_segment = struct.pack("<IIQQQQQQ", _PT_LOAD, _PF_READ_WRITE, 0, 0, 0, end, end, 0x1000)
    return load_segment + struct.pack(
        "<IIQQQQQQ", _PT_DYNAMIC, _PF_READ_WRITE, at_dynamic, at_dynamic, at_dynamic, dynamic_bytes, dynamic_bytes, 8
    )
