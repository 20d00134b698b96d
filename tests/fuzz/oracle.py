"""What a fuzz program means: each thread is a Python generator, and typed arithmetic is exact integers wrapped to size.

No compiler takes part. A thread runs alone until it yields a collective operation (a barrier, shuffle, vote or match);
the scheduler answers it once every thread that has to take part has arrived. Threads that returned are excused.
"""
from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Generator, Iterable
from types import SimpleNamespace

WARP = 32
FULL = 0xFFFFFFFF


class BadProgram(Exception):
    """The program has no defined meaning: a mistake of the generator, not of the device."""


def wrapped(bits: int, signed: bool) -> Callable[[int | float], int]:
    """A conversion to an integer type: truncation towards zero, then modulo 2**bits."""
    top, size = 1 << (bits - 1), 1 << bits

    def convert(value: int | float) -> int:
        value = int(value) & (size - 1)
        return value - size if signed and value >= top else value

    return convert


def f32(value: float) -> float:
    """Round to float32. Sums, products, quotients and roots of float32 are exact enough in float64 for one rounding."""
    return ctypes.c_float(value).value


i32, i64, u32, u64 = wrapped(32, True), wrapped(64, True), wrapped(32, False), wrapped(64, False)


def updater(combine: Callable) -> Callable:
    def update(array, index: int, value):
        old = array[index]
        array[index] = combine(old, value)
        return old

    return update


def compare_and_swap(array, index: int, expected: int, value: int) -> int:
    old = array[index]
    if old == expected:
        array[index] = value
    return old


def bit_reversed(value: int) -> int:
    return int(f"{value & FULL:032b}"[::-1], 2)


ATOMICS = {
    "add": updater(lambda x, y: i32(x + y) if isinstance(x, int) else x + y), "sub": updater(lambda x, y: i32(x - y)),
    "max": updater(max), "min": updater(min), "and_": updater(lambda x, y: x & y), "or_": updater(lambda x, y: x | y),
    "xor": updater(lambda x, y: x ^ y), "exch": updater(lambda x, y: y), "cas": compare_and_swap,
}
CUDA = SimpleNamespace(
    atomic=SimpleNamespace(**ATOMICS), popc=lambda value: (value & FULL).bit_count(), brev=bit_reversed,
    clz=lambda value: WARP - (value & FULL).bit_length(), selp=lambda condition, x, y: x if condition else y,
    threadfence=lambda: None,
)
NAMES = {"i32": i32, "i64": i64, "u32": u32, "u64": u64, "f32": f32, "f64": float, "cuda": CUDA, "FULL": FULL, "math": math}

# Collectives of a block: name in numba.cuda -> answer for the (predicate) operands of the threads that arrived.
BLOCK_ANSWERS: dict[str, Callable[[list], object]] = {
    "syncthreads": lambda values: None, "syncthreads_count": lambda values: sum(map(bool, values)),
    "syncthreads_and": lambda values: int(all(values)), "syncthreads_or": lambda values: int(any(values)),
}


def ballot(votes: dict[int, tuple]) -> int:
    return i32(sum(1 << lane for lane, (vote,) in votes.items() if vote))


def shuffled(source: Callable[[int, int], int]) -> Callable[[dict[int, tuple]], dict[int, object]]:
    """``source(lane, step)`` outside the warp gives a lane its own value back; a lane that is not there gives None."""

    def answer(operands: dict[int, tuple]) -> dict[int, object]:
        found = {}
        for lane, (value, step) in operands.items():
            other = source(lane, step)
            found[lane] = value if not 0 <= other < WARP else operands.get(other, (None,))[0]
        return found

    return answer


def matched(operands: dict[int, tuple]) -> dict[int, int]:
    return {lane: i32(sum(1 << other for other, (value,) in operands.items() if value == mine))
            for lane, (mine,) in operands.items()}


# Collectives of a warp: name -> answer (one for all lanes, or a dictionary by lane) for the operands by lane.
WARP_ANSWERS: dict[str, Callable[[dict[int, tuple]], object]] = {
    "syncwarp": lambda operands: None, "ballot_sync": ballot,
    "any_sync": lambda votes: any(vote for vote, in votes.values()),
    "all_sync": lambda votes: all(vote for vote, in votes.values()),
    "eq_sync": lambda votes: len({bool(vote) for vote, in votes.values()}) == 1,
    "shfl_sync": shuffled(lambda lane, step: step & 31), "shfl_up_sync": shuffled(lambda lane, step: lane - step),
    "shfl_down_sync": shuffled(lambda lane, step: lane + step), "shfl_xor_sync": shuffled(lambda lane, step: lane ^ step),
    "match_any_sync": matched,
}

Thread = Generator[tuple, object, None]


class Block:
    """Runs the threads of one block; ``threads`` in order of their linear index."""

    def __init__(self, threads: Iterable[Thread]):
        self.threads = list(threads)
        self.waiting: dict[int, tuple] = {}     # linear index -> the collective that the thread stands at
        for index in range(len(self.threads)):
            self.step(index, None)

    def step(self, index: int, answer: object) -> None:
        """Run one thread up to its next collective, or to its end."""
        self.waiting.pop(index, None)
        try:
            self.waiting[index] = self.threads[index].send(answer)
        except StopIteration:
            pass

    def run(self) -> None:
        while self.waiting:
            warps = itertools.groupby(sorted(self.waiting), key=lambda index: index // WARP)
            if not any([self.run_warp(list(members)) for _, members in warps]):
                self.release()

    def run_warp(self, members: list[int]) -> bool:
        """Answer the collectives of one warp for which all named lanes have arrived."""
        calls: dict[tuple, list[int]] = {}
        for index in members:
            name, site, *operands = self.waiting[index]
            if name in WARP_ANSWERS:
                calls.setdefault((name, site, operands[0] & FULL), []).append(index)
        alive = sum(1 << index % WARP for index in members)
        answered = False
        for (name, _, mask), callers in calls.items():
            here = sum(1 << index % WARP for index in callers)
            if here & ~mask:
                raise BadProgram(f"{name}: a lane outside its own mask")
            if here == mask & alive:
                self.answer(name, callers)
                answered = True
        return answered

    def answer(self, name: str, callers: list[int]) -> None:
        operands = {index % WARP: tuple(self.waiting[index][3:]) for index in callers}
        result = WARP_ANSWERS[name](operands)
        for index in callers:
            self.step(index, result[index % WARP] if isinstance(result, dict) else result)

    def release(self) -> None:
        """Every thread waits: they must all stand at one barrier."""
        calls = list(self.waiting.items())
        if len({call[:2] for _, call in calls}) > 1 or calls[0][1][0] not in BLOCK_ANSWERS:
            raise BadProgram(f"threads wait apart: {sorted({call[:2] for _, call in calls})}")
        result = BLOCK_ANSWERS[calls[0][1][0]]([call[2] if len(call) > 2 else None for _, call in calls])
        for index, _ in calls:
            self.step(index, result)


def run(thread: Callable[..., Thread], grid: tuple[int, int], block: tuple[int, int, int], arguments: dict,
        shared: Callable[[], dict]) -> None:
    """Run a whole grid. ``arguments`` are updated in place; ``shared()`` makes the shared arrays of one block."""
    for by, bx in itertools.product(range(grid[1]), range(grid[0])):
        own = shared()
        places = itertools.product(*(range(extent) for extent in reversed(block)))
        Block(thread(place=(*reversed(place), bx, by, *block, *grid), **own, **arguments) for place in places).run()
