"""The driver's own linker (cuLink): PTX in, PTX out. What runs is PTX, so joining the texts is the link."""
from __future__ import annotations

import ctypes
import dataclasses

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Int, Pointer, Size, UInt, put_size
from simt.driver.errors import NOT_SUPPORTED, DriverError
from simt.driver.handles import Handles

PTX = 1  # CU_JIT_INPUT_PTX


@dataclasses.dataclass(eq=False, slots=True)
class Link:
    """A link in progress; ``image`` keeps its result alive."""

    texts: list[bytes] = dataclasses.field(default_factory=list)
    image: ctypes.Array | None = None


LINKS: Handles[Link] = Handles("linker")


@driver_call(UInt, Pointer, Pointer, Pointer)
def cuLinkCreate(_count: int, _options: int, _values: int, link_out: int) -> None:
    put_size(link_out, LINKS.add(Link()))


@driver_call(Handle, Int, Pointer, Size, Pointer, UInt, Pointer, Pointer)
def cuLinkAddData(link: int, kind: int, data: int, size: int, *_options: int) -> None:
    if kind != PTX:
        raise DriverError(NOT_SUPPORTED, f"the emulated device links PTX, not input type {kind}")
    LINKS.get(link).texts.append(ctypes.string_at(data, size).rstrip(b"\0"))


@driver_call(Handle, Pointer, Pointer)
def cuLinkComplete(link: int, image_out: int, size_out: int) -> None:
    found = LINKS.get(link)
    found.image = ctypes.create_string_buffer(b"\n".join(found.texts))
    put_size(image_out, ctypes.addressof(found.image))
    put_size(size_out, len(found.image))


@driver_call(Handle)
def cuLinkDestroy(link: int) -> None:
    LINKS.remove(link)
