"""Handles: opaque numbers for the driver's objects, never used twice, never a valid address."""
from __future__ import annotations

import itertools
from typing import Generic, TypeVar

from simt.driver.errors import INVALID_HANDLE, DriverError

Kind = TypeVar("Kind")

# Below 4 GiB nothing is mapped on 64-bit Linux, so no handle is mistaken for a pointer; CUDA's own special stream
# handles are 0, 1 and 2.
FIRST, STEP = 0x1000_0000, 0x40
_numbers = itertools.count(FIRST, STEP)


class Handles(Generic[Kind]):
    """Objects of one kind by handle."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._objects: dict[int, Kind] = {}

    def add(self, thing: Kind) -> int:
        handle = next(_numbers)
        self._objects[handle] = thing
        return handle

    def get(self, handle: int) -> Kind:
        """The object; raises CUDA_ERROR_INVALID_HANDLE."""
        try:
            return self._objects[handle]
        except KeyError:
            raise DriverError(INVALID_HANDLE, f"{handle:#x} is no {self.kind}, or it was destroyed") from None

    def remove(self, handle: int) -> Kind:
        """Forget the object and return it; raises CUDA_ERROR_INVALID_HANDLE."""
        thing = self.get(handle)
        del self._objects[handle]
        return thing

    def items(self) -> list[tuple[int, Kind]]:
        return list(self._objects.items())

    def __contains__(self, handle: int) -> bool:
        return handle in self._objects

    def __len__(self) -> int:
        return len(self._objects)
