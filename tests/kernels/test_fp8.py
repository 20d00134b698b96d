"""e4m3 and e5m2 against ml_dtypes, which is another implementation of the same formats."""

from __future__ import annotations

import re
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from numba import cuda

import simt
from kernels.quant import fp8
from kernels.quant.fp8 import E4M3, E5M2
from simt.observe.names import GLOBAL_BYTES_REQUESTED_LD, GLOBAL_BYTES_REQUESTED_ST

OTHER = {E4M3: ml_dtypes.float8_e4m3fn, E5M2: ml_dtypes.float8_e5m2}
EVERY_CODE = np.arange(256, dtype=np.uint8)
LARGEST = {E4M3: 448.0, E5M2: 57344.0}

every_format = pytest.mark.parametrize("format", OTHER, ids=lambda format: format.name)
both_ways = pytest.mark.parametrize("saturating", [False, True], ids=["overflowing", "saturating"])


def encode(x, format, saturating) -> np.ndarray:
    x = np.asarray(x, np.float32)
    codes = cuda.device_array(x.shape, np.uint8)
    fp8.encode(cuda.to_device(x), codes, format, saturating)
    return codes.copy_to_host()


def decode(codes, format) -> np.ndarray:
    codes = np.asarray(codes, np.uint8)
    x = cuda.device_array(codes.shape, np.float32)
    fp8.decode(cuda.to_device(codes), x, format)
    return x.copy_to_host()


def expected(x, format, saturating) -> np.ndarray:
    """By ml_dtypes, which does not saturate: to saturate, numbers above the largest are lowered to it first."""
    if saturating:
        x = np.where(np.isnan(x), x, np.clip(x, -LARGEST[format], LARGEST[format]))
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(OTHER[format]).view(np.uint8)


def edges(format) -> np.ndarray:
    """Every number of the format, every tie between two, their neighbours in float32, and what lies above the largest."""
    numbers = decode(EVERY_CODE[:128], format)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    ties = (numbers[1:] + numbers[:-1]) / 2
    above = LARGEST[format] * np.array([1.01, 1.03, 1.036, 1.07, 1.08, 1.13, 2, 1e5], np.float32)
    special = np.array([np.inf, 3.4e38, 2.0**-149, 2.0**-126, 1e-30], np.float32)
    x = np.concatenate([numbers, ties, above, special]).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(0))])
    return np.concatenate([x, -x, np.array([np.nan, -np.nan], np.float32)])


@every_format
def test_every_code_stands_for_the_same_number(format):
    number, other = decode(EVERY_CODE, format), EVERY_CODE.view(OTHER[format]).astype(np.float32)
    np.testing.assert_array_equal(number, other)  # NaNs in the same places
    np.testing.assert_array_equal(np.signbit(number), np.signbit(other))


@both_ways
@every_format
def test_every_finite_code_comes_back(format, saturating):
    finite = EVERY_CODE[np.isfinite(decode(EVERY_CODE, format))]
    assert len(finite) == {E4M3: 254, E5M2: 248}[format]
    np.testing.assert_array_equal(encode(decode(finite, format), format, saturating), finite)


@both_ways
@every_format
def test_edges_have_the_same_codes(format, saturating):
    x = edges(format)
    np.testing.assert_array_equal(encode(x, format, saturating), expected(x, format, saturating))


@both_ways
@every_format
def test_random_bits_have_the_same_codes(format, saturating, rng):
    anything = rng.integers(2**32, size=1 << 16, dtype=np.uint32).view(np.float32)
    near = rng.standard_normal(1 << 16, dtype=np.float32) * np.float32(2) ** rng.integers(-20, 18, 1 << 16)
    x = np.concatenate([anything, near.astype(np.float32)])
    np.testing.assert_array_equal(encode(x, format, saturating), expected(x, format, saturating))


def test_464_is_the_last_number_that_e4m3_rounds_down_to_448():
    """jax-ml/ml_dtypes#400, onnx PR#4805, pytorch PR#178817: above it, a NaN or 448? Both ways are there, by name."""
    x = np.array([448, 464, np.nextafter(np.float32(464), np.float32(500)), 465, 480, np.inf, -464, -465], np.float32)
    nan = np.nan
    np.testing.assert_array_equal(decode(encode(x, E4M3, False), E4M3), [448, 448, nan, nan, nan, nan, -448, nan])
    np.testing.assert_array_equal(decode(encode(x, E4M3, True), E4M3), [448] * 6 + [-448] * 2)


def test_61440_is_the_first_number_that_e5m2_makes_infinity():
    x = np.array([57344, np.nextafter(np.float32(61440), np.float32(0)), 61440, 1e9, -61440], np.float32)
    np.testing.assert_array_equal(decode(encode(x, E5M2, False), E5M2), [57344, 57344, np.inf, np.inf, -np.inf])
    np.testing.assert_array_equal(decode(encode(x, E5M2, True), E5M2), [57344] * 4 + [-57344])


def test_the_top_binade_of_e4m3_is_used_up_to_448():
    """sgl-project/sglang PR#40581: a cast saturated from 256 on."""
    np.testing.assert_array_equal(decode(encode([256, 300, 416, 448], E4M3, True), E4M3), [256, 288, 416, 448])


def test_a_tie_goes_to_the_even_code():
    step = 2.0**-9  # the least positive e4m3
    x = np.array([17, 19, 21, 0.5 * step, 1.5 * step, 2.5 * step], np.float32)  # 16, 18, 20, 22 are neighbours
    np.testing.assert_array_equal(decode(encode(x, E4M3, False), E4M3), [16, 20, 20, 0, 2 * step, 2 * step])


@both_ways
def test_a_nan_stays_a_nan_and_keeps_its_sign(saturating):
    x = np.array([np.nan, -np.nan], np.float32)
    assert encode(x, E4M3, saturating).tolist() == [0x7F, 0xFF]
    assert encode(x, E5M2, saturating).tolist() == [0x7E, 0xFE]


@every_format
def test_zero_keeps_its_sign(format):
    assert encode([0.0, -0.0, 1e-30, -1e-30], format, True).tolist() == [0, 0x80, 0, 0x80]


def test_e5m2_is_the_high_byte_of_a_float16(rng):
    halves = rng.integers(256, size=500).astype(np.uint8)
    as_half = (halves.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(decode(halves, E5M2), as_half)


def test_what_does_not_fit_is_refused_before_the_launch():
    with pytest.raises(ValueError, match="x must be float32 and codes uint8, not float16 and uint8"):
        fp8.encode(np.zeros(4, np.float16), np.zeros(4, np.uint8), E4M3, True)
    with pytest.raises(ValueError, match=r"must be \(n,\), not \(4,\) and \(5,\)"):
        fp8.decode(np.zeros(5, np.uint8), np.zeros(4, np.float32), E4M3)


@every_format
def test_nothing_becomes_nothing(format):
    assert encode([], format, True).shape == decode([], format).shape == (0,)


@every_format
def test_the_cost_is_what_is_counted(format):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device counts")
    for launch, cost in ((lambda: encode(np.ones(1001), format, True), fp8.cost_of_encode(1001)),
                         (lambda: decode(np.ones(1001), format), fp8.cost_of_decode(1001))):
        with simt.profile(sample="all") as profile:
            launch()
        counters = sum((Counter(launch.counters) for launch in profile.launches), Counter())
        assert counters[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
        assert counters[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes


@every_format
def test_casts_use_no_instruction_that_older_devices_lack_and_no_float64(format):
    encode([1], format, True)
    decode([1], format)
    for kernel in (fp8.encoder(format, True), fp8.decoder(format)):
        for ptx in kernel.inspect_asm().values():
            assert not re.search(r"e4m3|e5m2x2|\.f64\b|\bcall\b|\.local\b", ptx.replace("fp8", ""))
