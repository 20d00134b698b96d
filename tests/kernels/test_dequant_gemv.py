"""The yardstick of dequant_gemv: the same weights in two forms, groups, nibbles, tails."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, int32

from kernels.case import Case
from kernels.ladder import load_ladder
from kernels.quant.dequant_gemv import LADDER, make, reference, tolerance, weights
from kernels.quant.dequant_gemv.s30_int4 import high, low
from kernels.quant.dequant_gemv.s50_vectorised import nibble
from kernels.quant.dequant_gemv.weights import GROUP
from kernels.quant.formats import pack_int4, unpack_int4
from workbook import buffers

every_step = pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)
packed_steps = pytest.mark.parametrize("step", list(LADDER)[2:], ids=lambda step: step.name)


def run(step, inputs) -> np.ndarray:
    """y after one run."""
    case = Case(b=len(inputs["x"]), n=len(inputs["codes"]), k=inputs["x"].shape[1])
    memory = buffers.fresh(LADDER, step, case, inputs)
    step.run(memory, 0)
    return memory["y"].copy_to_host()


def test_the_cases_include_the_corners():
    cases = {tuple(case.values()) for case in LADDER.cases}
    assert (1, 1, 1) in cases
    assert {1, 8} <= {b for b, _, _ in cases} and all(1 <= b <= 8 for b, _, _ in cases)
    assert any(n > 3 * 128 and n % 128 for _, n, _ in cases)
    assert {GROUP - 1, GROUP, GROUP + 1} <= {k for _, _, k in cases}
    assert any(k % 2 for _, _, k in cases) and any(k % 32 == 0 and k % GROUP for _, _, k in cases)
    assert any(k > 1024 and k % 32 == 0 and n % 4 for _, n, k in cases)  # 16-byte loads have edges too


def test_the_ladder_is_registered_under_its_name():
    assert load_ladder("dequant_gemv") is LADDER


def test_both_forms_hold_the_same_weights(rng):
    for k in (1, 7, 128, 129):
        inputs = make(Case(b=2, n=9, k=k), rng)
        np.testing.assert_array_equal(unpack_int4(inputs["packed"], k), inputs["codes"])


def test_inputs_have_the_shapes_of_the_case_and_all_codes(rng):
    for kind in LADDER.kinds:
        inputs = make(Case(b=3, n=50, k=257), rng, kind)
        shapes = {"x": (3, 257), "codes": (50, 257), "packed": (50, 129), "scales": (50, 3)}
        assert {name: array.shape for name, array in inputs.items()} == shapes
        assert [str(array.dtype) for array in inputs.values()] == ["float32", "int8", "uint8", "float32"]
        assert set(np.unique(inputs["codes"])) == set(range(-8, 8))


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="'normal' or 'integers', not 'zeros'"):
        make(Case(b=1, n=1, k=1), rng, "zeros")


def test_the_minimum_traffic_counts_packed_weights_only():
    assert LADDER.repeated == {"codes"}


@every_step
def test_bytes_written_by_hand_mean_what_they_should(step):
    """Code 0 in the low nibble; -2 is 0xE, -8 is 0x8. A kernel and a packer that swap nibbles alike would not pass."""
    inputs = {
        "x": np.array([[1, 10, 100, 1000, 10000]], np.float32),
        "codes": np.array([[1, -2, 3, -8, 7]], np.int8),
        "packed": np.array([[0xE1, 0x83, 0x07]], np.uint8),
        "scales": np.array([[0.5]], np.float32),
    }
    assert reference(inputs)["y"] == run(step, inputs) == (1 - 20 + 300 - 8000 + 70000) / 2


@every_step
def test_a_group_has_its_own_scale(step):
    x = np.arange(1, 3 * GROUP + 1, dtype=np.float32).reshape(1, -1)
    codes = np.where(np.arange(3 * GROUP) % 2, 3, -2).astype(np.int8).reshape(1, -1)
    for group in range(3):
        scales = np.zeros((1, 3), np.float32)
        scales[0, group] = 4
        inputs = {"x": x, "codes": codes, "packed": pack_int4(codes), "scales": scales}
        mine = slice(group * GROUP, (group + 1) * GROUP)
        assert run(step, inputs) == 4 * (x[0, mine] * codes[0, mine]).sum()


@every_step
def test_a_group_of_zeros_adds_zero_and_a_damaged_one_stays_in_its_row(step, rng):
    inputs = make(Case(b=2, n=40, k=256), rng, "integers")
    inputs["scales"][5], inputs["scales"][7, 1] = 0, np.nan
    y = run(step, inputs)
    assert np.array_equal(np.isnan(y).any(axis=0).nonzero()[0], [7]) and not y[:, 5].any()
    np.testing.assert_array_equal(np.delete(y, 7, axis=1), np.delete(reference(inputs)["y"], 7, axis=1))


@packed_steps
@pytest.mark.parametrize("k", [1, 31, 129])
def test_the_spare_nibble_of_an_odd_k_is_never_used(step, k, rng):
    inputs = make(Case(b=2, n=5, k=k), rng, "integers")
    inputs["packed"][:, -1] |= 0xF0
    np.testing.assert_array_equal(run(step, inputs), reference(inputs)["y"])


def test_every_nibble_of_every_byte_has_its_value():
    @cuda.jit
    def decode(packed, words, pairs, nibbles):
        i = cuda.grid(1)
        if i < packed.size:
            pairs[i, 0], pairs[i, 1] = low(packed[i]), high(packed[i])
        if i < words.size:
            for j in range(8):
                nibbles[i, j] = nibble(words[i], j)

    every_byte = np.arange(256, dtype=np.uint8)
    pairs, nibbles = np.zeros((256, 2), np.float32), np.zeros((64, 8), np.float32)
    decode[2, 128](every_byte, every_byte.view(np.int32), pairs, nibbles)
    expected = unpack_int4(every_byte[None])[0]
    np.testing.assert_array_equal(pairs.ravel(), expected)
    np.testing.assert_array_equal(nibbles.ravel(), expected)
    assert expected[:4].tolist() == [0, 0, 1, 0] and expected[-2:].tolist() == [-1, -1]
    assert expected[2 * 0x78 : 2 * 0x78 + 2].tolist() == [-8, 7]


@every_step
def test_whole_numbers_come_out_exactly(step, rng):
    inputs = make(Case(b=3, n=70, k=2048), rng, "integers")
    assert not tolerance(Case(b=3, n=70, k=2048), inputs)["y"].any()
    np.testing.assert_array_equal(run(step, inputs), reference(inputs)["y"])


@pytest.mark.parametrize("k", [8, 128, 2048])
def test_float32_sums_stay_well_inside_the_tolerance_and_float16_falls_outside(k, rng):
    case = Case(b=4, n=16, k=k)
    inputs = make(case, rng)
    w, expected, allowed = weights(inputs), reference(inputs)["y"], tolerance(case, inputs)["y"]
    totals = {}
    for dtype in (np.float32, np.float16):
        total = np.zeros((4, 16), np.float32)
        for i in range(k):
            total += np.outer(inputs["x"][:, i].astype(dtype), w[:, i].astype(dtype)).astype(np.float32)
        totals[dtype] = np.abs(total - expected)
    assert np.all(totals[np.float32] < 0.5 * allowed)
    assert np.any(totals[np.float16] > 2 * allowed)


@every_step
@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("x", (9, 256), "b is 9, and has to be from 0 to 8: a larger batch is a matrix product"),
        ("x", (1, 256), r"y is \(2, 5\); with b=1 k=256 n=5 it has to be \(1, 5\)"),
        ("packed", (5, 127), r"packed is \(5, 127\); as \(n, k/2\) with b=2 k=256 n=5 it has to be \(5, 128\)"),
        ("scales", (5, 4), r"scales is \(5, 4\); as \(n, k/128\) .* has to be \(5, 2\)"),  # groups of 64
        ("codes", (5, 255), r"codes is \(5, 255\); as \(n, k\) with b=2 k=256 n=5 it has to be \(5, 256\)"),
    ],
)
def test_inputs_that_do_not_fit_together_are_refused(step, name, shape, message, rng):
    inputs = make(Case(b=2, n=5, k=256), rng)
    buffers = {key: cuda.to_device(array) for key, array in inputs.items()}
    buffers[name] = cuda.device_array(shape, inputs[name].dtype)
    buffers["y"] = cuda.device_array((2, 5), np.float32)
    with pytest.raises(ValueError, match=message):
        step.run(buffers, 0)


@pytest.mark.parametrize("name", ["vectorised", "four_rows"])
def test_x_off_the_16_byte_boundary_is_refused_where_16_bytes_are_loaded(name, rng):
    inputs = make(Case(b=1, n=5, k=256), rng)
    buffers = {key: cuda.to_device(array) for key, array in inputs.items()}
    buffers["x"] = cuda.to_device(np.zeros(257, np.float32))[1:].reshape(1, 256)
    buffers["y"] = cuda.device_array((1, 5), np.float32)
    with pytest.raises(ValueError, match="start at a multiple of 16 bytes"):
        LADDER.step(name).run(buffers, 0)


@pytest.mark.parametrize("step", list(LADDER)[1:], ids=lambda step: step.name)  # dequantise: grid.y ends at 524280 rows
def test_the_weights_of_row_16_million_lie_where_64_bit_offsets_say(step, claimed, fault_of):
    """linkedin/Liger-Kernel#1483, vllm#42862: an offset that wraps at 2**32 would find the first row, which exists."""
    n, k = 2**25, 512
    buffers = {"x": cuda.to_device(np.ones((1, k), np.float32)), "codes": claimed((n, k), np.int8)}
    buffers |= {"packed": claimed((n, k // 2), np.uint8), "scales": claimed((n, 4), np.float32)}
    buffers |= {"weights": claimed((n, k), np.float32), "y": claimed((1, n), np.float32)}
    row, offset = fault_of(step, buffers)
    width = k if step.name == "fused_int8" else k // 2
    assert row * width >= 2**32 and offset // width == row


def test_a_nibble_shifts_within_32_bits():
    """Numba shifts int32 as int64: without the cast, the high bits stay and the sign is lost."""
    @cuda.jit
    def shifted(word, out):
        out[0] = (word << 28) >> 28
        out[1] = int32(word << 28) >> 28

    out = np.zeros(2, np.int64)
    shifted[1, 1](np.int32(0x78), out)
    assert out.tolist() == [0x78, -8]
