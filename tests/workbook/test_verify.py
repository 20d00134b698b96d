"""What verify says about right and wrong steps."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.case import Case
from kernels.ladder import Ladder
from workbook import poison, verify

RAGGED = Case(m=33, n=17, k=21)


@pytest.fixture
def problems(toy, seed):
    """The ragged case with integer-valued and with normal inputs."""
    return verify.problems(toy, RAGGED, np.random.default_rng(seed))


def right(a, b, c):
    c[...] = a @ b


def lines_about(toy, target, step, problem):
    failure = verify.verify(toy, step, problem, target)
    return () if failure is None else failure.lines


def test_a_right_step_has_no_failure(toy, target, step_that, problems):
    assert [verify.verify(toy, step_that(right), problem, target) for problem in problems] == [None, None]


def test_integer_valued_inputs_must_come_out_exactly(toy, target, step_that, problems):
    def off_by_a_millionth(a, b, c):
        c[...] = (a @ b) * np.float32(1 + 2e-7)

    exact, normal = problems
    assert "cells are wrong" in lines_about(toy, target, step_that(off_by_a_millionth), exact)[0]
    assert lines_about(toy, target, step_that(off_by_a_millionth), normal) == ()


def test_float16_arithmetic_exceeds_the_bound_on_normal_inputs(toy, target, step_that, problems):
    def half(a, b, c):
        c[...] = a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)

    assert "cells are wrong" in lines_about(toy, target, step_that(half), problems[1])[0]


def test_an_unwritten_block_is_named_by_rows_and_columns(toy, target, step_that, problems):
    def skips_a_block(a, b, c):
        product = a @ b
        c[:16], c[16:32, :16], c[32:] = product[:16], product[16:32, :16], product[32:]

    for problem in problems:
        lines = lines_about(toy, target, step_that(skips_a_block), problem)
        assert lines[1] == "never written: rows 16..31, column 16 (16 cells)"


def test_a_code_of_8_bits_that_equals_the_poison_is_right_where_it_is_expected(target, step_that):
    poisonous = poison.fill(1, "int8", poison.POISON)[0]
    codes = np.array([poisonous, 5, poisonous], np.int8)
    ladder = Ladder(
        "kernels.codes",
        make=lambda case, rng, kind: {"a": codes},
        reference=lambda inputs: {"c": inputs["a"].astype(np.float64)},
        tolerance=lambda case, inputs: {"c": 0.0},
        outputs=lambda case, inputs: {"c": ((3,), "int8")},
        cases=[Case(n=3)],
        timed_case=Case(n=3),
        steps=(),
    )

    def copies(a, c):
        c[:] = a

    def copies_one(a, c):
        c[0] = a[0]

    problem, _ = verify.problems(ladder, Case(n=3), np.random.default_rng(1))
    assert verify.verify(ladder, step_that(copies), problem, target) is None
    assert "got nothing (never written)" in verify.verify(ladder, step_that(copies_one), problem, target).lines[0]


def _ladder_of(case, make, reference, output, shape, dtype):
    return Ladder(
        "kernels.some",
        make=make,
        reference=lambda inputs: {output: reference(inputs["a"])},
        tolerance=lambda case, inputs: {output: 0.0},
        outputs=lambda case, inputs: {output: (shape, dtype)},
        cases=[case],
        timed_case=case,
        steps=(),
    )


def test_a_few_wrong_codes_of_8_bits_that_equal_the_poison_do_not_count_as_unwritten(target, step_that):
    codes = np.tile(np.arange(-128, 128), 4).astype(np.int8)
    case = Case(n=1024)
    ladder = _ladder_of(case, lambda *_: {"a": codes}, lambda a: a.astype(np.float64), "c", (1024,), "int8")

    def one_more(a, c):
        c[:] = a + 1

    problem, _ = verify.problems(ladder, case, np.random.default_rng(1))
    lines = verify.verify(ladder, step_that(one_more), problem, target).lines
    assert lines[0].startswith("c: 1024 of 1024 cells are wrong")
    assert "never written" not in "\n".join(lines)


def test_a_single_number_names_no_cause_that_fits_by_chance(target, step_that):
    """The kernel adds a[1] twice: for a = -2, 2 the total is 2, as if the first one were missing."""
    case = Case(n=2)
    a = np.array([-2, 2], np.float32)
    ladder = _ladder_of(case, lambda *_: {"a": a}, lambda a: a.sum(keepdims=True, dtype=np.float64), "c", (1,), "float32")

    def adds_one_twice(a, c):
        c[0] = a[0] + a[1] + a[1]

    problem, _ = verify.problems(ladder, case, np.random.default_rng(1))
    assert verify.verify(ladder, step_that(adds_one_twice), problem, target).lines[1] == "wrong cells: all of it"


def test_a_single_number_from_many_different_ones_names_its_cause(target, step_that, seed):
    case = Case(n=100)
    a = np.random.default_rng(seed).permutation(1000)[:100].astype(np.float32)
    ladder = _ladder_of(case, lambda *_: {"a": a}, lambda a: a.sum(keepdims=True, dtype=np.float64), "c", (1,), "float32")

    def stops_at_64(a, c):
        c[0] = a[:64].sum()

    problem, _ = verify.problems(ladder, case, np.random.default_rng(1))
    said = verify.verify(ladder, step_that(stops_at_64), problem, target).lines[1]
    assert said == "n is 100, but the result stops at 64: the last, partial tile of 64 is missing"


def test_a_nan_among_the_inputs_that_stays_is_no_change(toy, target, step_that):
    inputs = {"a": np.array([[np.nan]], np.float32), "b": np.ones((1, 1), np.float32)}
    case = Case(m=1, n=1, k=1)
    problem = verify.Problem(case, "normal", "normal", inputs, toy.reference(inputs), toy.tolerance(case, inputs))
    assert verify.verify(toy, step_that(right), problem, target) is None


def test_a_nan_that_was_computed_does_not_count_as_unwritten(toy, target, step_that, problems):
    def makes_nan(a, b, c):
        c[...] = a @ b
        c[3, 4] = np.nan

    lines = lines_about(toy, target, step_that(makes_nan), problems[0])
    assert "1 of 561 cells is wrong; the first is c[3, 4]: got nan" in lines[0]
    assert lines[1] == "wrong cells: row 3, column 4"


def test_the_transpose_is_recognised(toy, target, step_that, problems):
    def transposed(a, b, c):
        c[...] = (a @ b).T.reshape(c.shape)

    assert "equals the transpose" in lines_about(toy, target, step_that(transposed), problems[1])[1]


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (slice(0, 16), "k is 21, but the result stops at 16: the last, partial tile of 16 is missing"),
        (slice(0, 20), "k is 21, but the result stops at 20: the last one is missing"),
        (slice(16, None), "k is 21, but the result starts at 16: the first tile of 16 is missing"),
    ],
)
def test_a_missing_tile_of_k_is_recognised(toy, target, step_that, problems, kept, said):
    def skips_a_tile(a, b, c):
        c[...] = a[:, kept] @ b[kept]

    assert lines_about(toy, target, step_that(skips_a_tile), problems[0])[1] == said


def test_a_constant_factor_is_recognised(toy, target, step_that, problems):
    def added_twice(a, b, c):
        c[...] = 2 * (a @ b)

    assert lines_about(toy, target, step_that(added_twice), problems[0])[1] == "every cell is 2 times what it should be"


def test_scratch_is_poisoned(toy, target, step_that, problems):
    def trusts_scratch(a, b, c, sums):
        sums += a @ b
        c[...] = sums

    step = step_that(trusts_scratch, scratch={"sums": ((33, 17), "float32")})
    assert "got nan" in lines_about(toy, target, step, problems[0])[0]


def test_stores_around_the_output_are_seen(toy, target, step_that, problems):
    def strays(a, b, c):
        c[...] = a @ b
        c.base[256 - 3] = 0
        c.base[256 + c.size + 1] = 0

    lines = lines_about(toy, target, step_that(strays), problems[1])
    assert lines == (
        "stores before the start of c: 1 cell, the nearest 3 before it",
        "stores past the end of c: 1 cell, the nearest 2 past it",
    )


def test_a_changed_input_is_named(toy, target, step_that, problems):
    def scales_in_place(a, b, c):
        c[...] = a @ b
        b[2, 5] += 1

    assert lines_about(toy, target, step_that(scales_in_place), problems[0]) == (
        "the step changed its input: b[2, 5] is not what it was",
    )


def test_a_step_that_raises_shows_its_message_notes_and_line(toy, target, step_that, problems):
    def faults(a, b, c):
        error = RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
        error.add_note("thread (3, 0, 0) of block (1, 0, 0) reads a[40], extent 40")
        raise error

    failure = verify.verify(toy, step_that(faults), problems[0], target)
    assert failure.what == "RuntimeError while running toy/mine on m=33 n=17 k=21, integer-valued inputs"
    place, message, note = failure.lines
    assert (message, note) == (
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "thread (3, 0, 0) of block (1, 0, 0) reads a[40], extent 40",
    )
    assert place == f"at {step_that(faults).path}:{place.split(':')[1]}: run=lambda buffers, stream: run(**buffers),"


def test_the_two_kinds_of_inputs_run_in_opposite_orders(toy, target, step_that, problems):
    def right(a, b, c):
        c[...] = a @ b

    for problem in problems:
        verify.verify(toy, step_that(right), problem, target)
    assert dict(zip((problem.kind for problem in problems), target.orders, strict=True)) == {
        "integers": "reverse", "normal": "forward"}


def test_a_step_that_reads_the_first_block_again_and_again_is_recognised(toy, target, step_that, problems):
    def forgets_the_block(a, b, c):
        c[...] = a[np.arange(a.shape[0]) % 8] @ b

    for problem in problems:
        lines = lines_about(toy, target, step_that(forgets_the_block), problem)
        assert lines[-1] == "only the first 8 of a are read, again and again: is the block's number in the index?"


def test_a_step_that_adds_up_block_0_alone_is_recognised(toy, target, step_that, problems):
    def stops_early(a, b, c):
        c[...] = a[:, :8] @ b[:8]

    for problem in problems:
        lines = lines_about(toy, target, step_that(stops_early), problem)
        assert lines[-1] == "k is 21, but only the first 8 count: the result is that of block 0 alone"
