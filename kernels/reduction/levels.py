"""Sums of sums: a kernel that leaves one partial sum per block is launched again over the partial sums, until one is left."""

from __future__ import annotations

from typing import Any

from kernels.case import Arrays, Case, Cost, Layout, ceil_div

ITEM_BYTES = 4  # of float32 and int32


def blocks_of(n: int, per_block: int) -> int:
    """Blocks of one launch over n values; one for none, which has 0 to say."""
    return max(1, ceil_div(n, per_block))


def sizes(n: int, per_block: int) -> list[int]:
    """How many values each launch reads: n, then the partial sums of the launch before."""
    found = [n]
    while (blocks := blocks_of(found[-1], per_block)) > 1:
        found.append(blocks)
    return found


def run(kernel: Any, per_block: int, threads: int, buffers: dict[str, Any], stream: Any) -> None:
    """kernel(values, partials) on every level; the last one has one block, whose partial sum is the total."""
    values, target, spare = buffers["x"], buffers["partials"], buffers["fewer_partials"]
    for size in sizes(values.size, per_block):
        blocks = blocks_of(size, per_block)
        sums = target[:blocks] if blocks > 1 else buffers["total"]
        kernel[blocks, threads, stream](values, sums)
        values, target, spare = sums, spare, target


def scratch(case: Case, inputs: Arrays, per_block: int) -> Layout:
    """Partial sums of the first launch and of the second; after that the two take turns."""
    blocks = blocks_of(case["n"], per_block)
    dtype = inputs["x"].dtype.name
    return {"partials": ((blocks,), dtype), "fewer_partials": ((blocks_of(blocks, per_block),), dtype)}


def additions(n: int) -> int:
    """Of n values to one sum, in any order."""
    return max(n - 1, 0)


def cost(case: Case, per_block: int) -> Cost:
    """Each launch loads all its values and stores one sum per block."""
    read = sizes(case["n"], per_block)
    stored = sum(blocks_of(size, per_block) for size in read)
    return Cost(flops=additions(case["n"]), load_bytes=ITEM_BYTES * sum(read), store_bytes=ITEM_BYTES * stored)
