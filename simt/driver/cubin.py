"""What the real cubin of a kernel says about it: registers, stack, shared and constant memory, spills.

Sections and attributes as ``cuobjdump -elf`` names them: ``.nv.info`` holds one record per attribute, of which
EIATTR_REGCOUNT and EIATTR_FRAME_SIZE count here; ``.nv.shared.<kernel>`` is as large as the static shared memory, and
with it, from compute capability 9 on, the bytes that the system keeps.
"""
from __future__ import annotations

import dataclasses
import io
import re
import struct

_REGCOUNT, _FRAME_SIZE = 0x2F, 0x11
_SIZED_VALUE = 4  # EIFMT_SVAL: a 16-bit size, then the value
_WORD = struct.Struct("<II")  # symbol index, value
RESERVED_SHARED_BYTES = 1024
RESERVED_SINCE_CC = (9, 0)
_SPILLS = re.compile(
    r"Function properties for (?P<kernel>\S+)\s*\n"
    r"[^\n]*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """Resources of one kernel.

    registers:   per thread
    local_bytes: stack frame per thread
    static_shared_bytes: without what the system keeps
    const_bytes: constant arrays of the module
    spill_bytes: stored and loaded by spill code, counted once per instruction; None when the linker's log is not there
    """

    registers: int = 0
    local_bytes: int = 0
    static_shared_bytes: int = 0
    const_bytes: int = 0
    spill_bytes: int | None = None


def facts(cubin: bytes, log: str, cc: tuple[int, int]) -> dict[str, Facts]:
    """Facts of every kernel in a cubin; ``log`` is what the linker said with ``-verbose``, or ""."""
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(cubin))
    sizes = {section.name: section["sh_size"] for section in elf.iter_sections()}
    info = elf.get_section_by_name(".nv.info")
    records = _info_records(info.data() if info else b"")
    names = [symbol.name for symbol in elf.get_section_by_name(".symtab").iter_symbols()]
    reserved = RESERVED_SHARED_BYTES if cc >= RESERVED_SINCE_CC else 0
    found = {}
    for section in sizes:
        if not section.startswith(".text."):
            continue
        kernel = section.removeprefix(".text.")
        attributes = {key: value for index, key, value in records if names[index] == kernel}
        shared = sizes.get(f".nv.shared.{kernel}", 0)
        found[kernel] = Facts(
            registers=attributes.get(_REGCOUNT, 0),
            local_bytes=attributes.get(_FRAME_SIZE, 0),
            static_shared_bytes=max(shared - reserved, 0),
            const_bytes=sizes.get(".nv.constant3", 0),
            spill_bytes=spills(log).get(kernel),
        )
    return found


def spills(log: str) -> dict[str, int]:
    """Bytes of spill stores and loads of each function, out of ptxas' words."""
    return {match["kernel"]: int(match["stores"]) + int(match["loads"]) for match in _SPILLS.finditer(log)}


def linked(ptx: str, cc: tuple[int, int]) -> tuple[bytes | None, str]:
    """(cubin, linker's words) of a module that was loaded as text; no cubin where ptxas cannot compile it for the device."""
    from cuda.bindings.nvjitlink import nvJitLinkError

    try:
        return _link(ptx, cc)
    except nvJitLinkError:
        return None, ""


def _link(ptx: str, cc: tuple[int, int]) -> tuple[bytes, str]:
    """A real cubin, and the linker's words."""
    from cuda.bindings import nvjitlink

    options = [f"-arch=sm_{cc[0]}{cc[1]}{'a' if cc >= RESERVED_SINCE_CC else ''}", "-verbose"]
    handle = nvjitlink.create(len(options), options)
    try:
        text = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "module.ptx")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin), log.decode(errors="replace")


def _info_records(data: bytes) -> list[tuple[int, int, int]]:
    """(symbol index, attribute, value) of the records whose value is two words."""
    records, at = [], 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED_VALUE:
            if size == _WORD.size:
                symbol, value = _WORD.unpack_from(data, at)
                records.append((symbol, attribute, value))
            at += size
    return records
