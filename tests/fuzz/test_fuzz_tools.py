"""The fuzz itself: what its oracle makes of barriers, shuffles and types, and that shrinking keeps what fails."""
from __future__ import annotations

import pytest

from tests.fuzz import oracle
from tests.fuzz.generator import generate
from tests.fuzz.runner import expected_results, inputs_of
from tests.fuzz.shrink import length, shrunk
from tests.fuzz.source import kernel_source, oracle_source
from tests.fuzz.tree import Line, Nest, Program


def results(*body: Line | Nest, block: tuple[int, int, int] = (40, 1, 1)) -> list[int]:
    program = Program(0, list(body), block, (1, 1), n=0, m=0)
    return expected_results(program, inputs_of(program))["oi"].tolist()


def test_threads_that_returned_are_excused_from_a_barrier():
    count = Line(("c = cuda.syncthreads_count(1)", "oi[i] = c"))
    assert results(Nest([("if tid >= 30:", [Line(("return",))])]), count) == [30] * 30 + [-7] * 10


def test_a_barrier_that_a_live_thread_misses_has_no_meaning():
    with pytest.raises(oracle.BadProgram):
        results(Nest([("if tid < 7:", [Line(("cuda.syncthreads()",))])]), Line(("cuda.syncthreads()", "oi[i] = 0")))


def test_a_shuffle_reads_from_the_lane_below_in_the_same_warp():
    shift = Line(("v = cuda.shfl_up_sync(FULL, tid, 1)", "oi[i] = v"))
    assert results(shift) == [0, *range(31), 32, *range(32, 39)]


def test_a_vote_among_some_lanes_does_not_ask_the_others():
    vote = Nest([("if tid < 4:", [Line(("v = cuda.all_sync(15, tid < 4)", "oi[i] = i64(v)"))])])
    assert results(vote, block=(8, 1, 1)) == [1] * 4 + [-7] * 4


@pytest.mark.parametrize("convert, value, result", [
    (oracle.i32, 1 << 31, -(1 << 31)), (oracle.u32, -1, (1 << 32) - 1), (oracle.i64, -2.9, -2),
    (oracle.f32, 0.1, 0.10000000149011612), (oracle.f32, 1e300, float("inf")),
])
def test_conversions_round_and_wrap(convert, value, result):
    assert convert(value) == result


def test_a_collective_is_the_only_difference_between_kernel_and_oracle():
    program = Program(0, [Line(("a = cuda.ballot_sync(FULL, True)",)), Line(("oi[i] = a",))], (32, 1, 1), (1, 1), n=0, m=0)
    assert "a = cuda.ballot_sync(FULL, True)\n    oi[i] = a" in kernel_source(program)
    assert "a = yield ('ballot_sync', 1, FULL, True)\n    oi[i] = a" in oracle_source(program)


def test_a_seed_makes_the_same_program_every_time():
    assert kernel_source(generate(11)) == kernel_source(generate(11)) != kernel_source(generate(12))


def test_shrinking_keeps_what_fails_and_little_else():
    program = next(p for p in map(generate, range(100)) if "cuda.atomic.max(hm" in kernel_source(p))
    small = shrunk(program, lambda candidate: "cuda.atomic.max(hm" in kernel_source(candidate))
    assert "cuda.atomic.max(hm" in kernel_source(small)
    assert length(small) == 1
