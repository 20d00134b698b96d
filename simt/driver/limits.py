"""Launches that no device of this kind can start, refused with the arithmetic and a way out."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simt.driver.errors import COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, DriverError
from simt.driver.session import current
from simt.model.occupancy import most_registers, registers_of_block
from simt.runtime.names import AXES, kernel_name

if TYPE_CHECKING:
    from simt.driver.request import Request

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
LONG_GRID = " Put the longest dimension on x, or let each thread handle several cells"


def refuse_impossible(request: Request) -> None:
    """Refuse what the real driver refuses, and say why. Raises DriverError."""
    try:
        check_extents("grid", "blocks", request.grid, MAX_GRID)
        check_extents("block", "threads", request.block, MAX_BLOCK)
        check_threads(request)
        check_shared(request)
        check_registers(request)
        if request.cooperative:
            check_cooperative(request)
    except DriverError as error:
        raise DriverError(error.code, f"kernel {kernel_name(request.kernel.name)}: {error.note}") from None


def check_extents(what: str, of: str, shape: tuple[int, int, int], limits: tuple[int, int, int]) -> None:
    for axis, extent, limit in zip(AXES, shape, limits, strict=True):
        if extent == 0:
            raise DriverError(INVALID_VALUE, f"{what}.{axis} = 0 in {what} {shape}: there is nothing to launch; where a size "
                              "may be 0, return before the launch")
        if extent > limit:
            way_out = LONG_GRID if what == "grid" and axis != "x" else ""
            raise DriverError(INVALID_VALUE, f"{what}.{axis} = {extent} in {what} {shape}: axis {axis} holds at most {limit} "
                              f"{of}.{way_out}")


def check_threads(request: Request) -> None:
    threads, most = request.threads_per_block, current().device.threads_per_block
    if threads > most:
        product = " x ".join(str(n) for n in request.block)
        raise DriverError(INVALID_VALUE, f"block {request.block} has {product} = {threads} threads; a block has at most "
                          f"{most}: launch more and smaller blocks")
    if threads > request.kernel.launch_bound:
        raise DriverError(INVALID_VALUE, f"{threads} threads per block; the kernel was compiled for "
                          f"{request.kernel.launch_bound} (launch_bounds)")


def check_shared(request: Request) -> None:
    device, kernel, asked = current().device, request.kernel, request.dynamic_shared_bytes
    static, limit = kernel.facts.static_shared_bytes, max(kernel.dynamic_shared_limit, 0)
    if asked <= limit:
        return
    most = device.shared_bytes_per_block_optin - static
    way_out = f"the {device.name} has no more than {most} B for it" if asked > most else \
        f"the {device.name} has {most} B for a program that asks with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
    raise DriverError(INVALID_VALUE, f"{asked} B of dynamic shared memory; with {static} B of static ones this kernel may ask "
                      f"for {limit} B; {way_out}")


def check_registers(request: Request) -> None:
    device, kernel, threads = current().device, request.kernel, request.threads_per_block
    registers, most = kernel.facts.registers, kernel.max_threads_per_block
    if threads <= most:
        return
    needed, cap = registers_of_block(device, threads, registers), most_registers(device, threads)
    allocated = f", allocated as {needed}," if needed != registers * threads else ""
    raise DriverError(
        LAUNCH_OUT_OF_RESOURCES,
        f"{registers} registers x {threads} threads = {registers * threads}{allocated} > "
        f"{device.registers_per_sm} of a multiprocessor: launch at most {most} threads per block, or compile with "
        f"@cuda.jit(max_registers={cap}), which keeps values in slower local memory instead",
    )


def check_cooperative(request: Request) -> None:
    blocks = math.prod(request.grid)
    per_sm = request.kernel.blocks_per_sm(request.threads_per_block, request.dynamic_shared_bytes)
    resident = per_sm * current().device.sm_count
    if blocks > resident:
        raise DriverError(
            COOPERATIVE_LAUNCH_TOO_LARGE,
            f"{blocks} blocks wait for each other, but only {resident} of them fit on the device at once: "
            "kernel.max_cooperative_grid_blocks(block) tells how many do",
        )
