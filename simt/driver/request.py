"""What a launch asks of the driver."""
from __future__ import annotations

import math
from typing import NamedTuple

from simt.driver.libraries import Kernel
from simt.driver.session import current


class Request(NamedTuple):
    """A launch, besides its arguments."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    cooperative: bool

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    @property
    def shape(self) -> tuple:
        """What decides whether the launch is allowed."""
        return *self[1:], current().device.name
