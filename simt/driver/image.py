"""Module images: PTX text, or a real cubin that carries the PTX it was made from.

The cubin stays what nvJitLink made, so disassemblers and pickles work; bytes 9 to 15 of its ELF header, which the
System V ABI leaves as padding, mark it, and the PTX and the linker's log follow its last byte.
"""
from __future__ import annotations

import ctypes
import dataclasses
import struct

from simt.driver.errors import INVALID_IMAGE, NOT_SUPPORTED, DriverError

ELF_MAGIC = b"\x7fELF"
FATBIN_MAGICS = (b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46")
_MARK_AT, _MARK = 9, b"SIMTPTX"
_EHDR_BYTES = 64
_TRAILER = struct.Struct("<QQ")  # bytes of PTX, bytes of log


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """What a module was loaded from.

    cubin: the real cubin, or None for plain PTX
    log:   what the linker said about registers and spills (nvJitLink -verbose), or ""
    """

    ptx: str
    cubin: bytes | None = None
    log: str = ""


def pack(image: Image) -> bytes:
    """One block of bytes that ``read`` understands; ``image.cubin`` is needed."""
    cubin = bytearray(image.cubin)
    cubin[_MARK_AT:_MARK_AT + len(_MARK)] = _MARK
    ptx, log = image.ptx.encode(), image.log.encode()
    return bytes(cubin) + _TRAILER.pack(len(ptx), len(log)) + ptx + log


def read(address: int) -> Image:
    """The image at an address, as ``cuLibraryLoadData`` gets it: without a size."""
    start = ctypes.string_at(address, 4)
    if start in FATBIN_MAGICS:
        raise DriverError(NOT_SUPPORTED, "the emulated device runs PTX; a fatbin built elsewhere carries machine code")
    if start != ELF_MAGIC:
        return Image(ctypes.string_at(address).decode())
    header = ctypes.string_at(address, _EHDR_BYTES)
    if header[_MARK_AT:_MARK_AT + len(_MARK)] != _MARK:
        raise DriverError(
            INVALID_IMAGE,
            "the emulated device runs PTX, and this cubin carries none: it was linked before simt.enable(), or by "
            "another program. Enable first, and clear a kernel cache (cache=True) filled on a real GPU",
        )
    size = _elf_size(header)
    ptx_size, log_size = _TRAILER.unpack(ctypes.string_at(address + size, _TRAILER.size))
    text = ctypes.string_at(address + size + _TRAILER.size, ptx_size + log_size)
    return Image(text[:ptx_size].decode(), ctypes.string_at(address, size), text[ptx_size:].decode())


def whole_elf(cubin: bytes) -> bytes:
    """The cubin cut, or filled with zeros, to the size that its header tells: where ``read`` looks for the PTX."""
    size = _elf_size(cubin[:_EHDR_BYTES])
    return cubin[:size].ljust(size, b"\0")


def _elf_size(header: bytes) -> int:
    """End of the last of the section and program header tables: nvJitLink writes both behind all sections."""
    program_at, section_at = struct.unpack_from("<QQ", header, 32)
    program_bytes, programs, section_bytes, sections = struct.unpack_from("<HHHH", header, 54)
    return max(program_at + program_bytes * programs, section_at + section_bytes * sections)
