"""Two int4 codes in a byte: the layout, by hand, and what a round trip alone does not see."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import Case
from kernels.quant import int4
from kernels.quant.formats import pack_int4, unpack_int4
from simt.observe.names import GLOBAL_BYTES_REQUESTED_LD, GLOBAL_BYTES_REQUESTED_ST
from workbook import poison

# Written by hand: (codes, bytes). The first code is the low nibble; -1 is 1111, -8 is 1000.
GOLDEN = [
    ([0, 1, 2, 3, 4, 5, 6, 7], [0x10, 0x32, 0x54, 0x76]),
    ([-8, -7, -6, -5, -4, -3, -2, -1], [0x98, 0xBA, 0xDC, 0xFE]),
    ([7, -8, -1, 0], [0x87, 0x0F]),
    ([1, 2, -3], [0x21, 0x0D]),  # an odd one out: its high nibble is 0
    ([-1], [0x0F]),
]
INTERLEAVED = [0x20, 0x64, 0x31, 0x75]  # codes 0..7 where eight codes of a word lie in the order 0 2 4 6 1 3 5 7

golden = pytest.mark.parametrize(("codes", "packed"), GOLDEN, ids=lambda values: str(values))


def pack(codes: np.ndarray) -> np.ndarray:
    """On the device, into poisoned memory."""
    codes = np.asarray(codes, np.int8)
    packed = cuda.to_device(poison.fill((codes.shape[0], -(-codes.shape[1] // 2)), "uint8", poison.POISON))
    int4.pack(cuda.to_device(codes), packed)
    return packed.copy_to_host()


def unpack(packed: np.ndarray, columns: int) -> np.ndarray:
    packed = np.asarray(packed, np.uint8)
    codes = cuda.to_device(poison.fill((len(packed), columns), "int8", poison.POISON))
    int4.unpack(cuda.to_device(packed), codes)
    return codes.copy_to_host()


@golden
def test_codes_become_these_bytes(codes, packed):
    assert pack([codes]).tolist() == [packed]
    assert pack_int4(np.array(codes)).tolist() == packed


@golden
def test_these_bytes_become_the_codes(codes, packed):
    assert unpack([packed], len(codes)).tolist() == [codes]
    assert unpack_int4(np.array(packed, np.uint8), len(codes)).tolist() == codes


def test_the_words_of_four_bytes_read_as_hexadecimal_from_the_right():
    words = pack([list(range(8))]).view("<u4")
    assert [hex(word) for word in words[0]] == ["0x76543210"]


def high_nibble_first(codes):
    nibbles = codes.astype(np.uint8) & 0xF
    return nibbles[:, 0::2] << 4 | nibbles[:, 1::2]


def from_high_nibble_first(packed):
    nibbles = np.stack([packed >> 4, packed & 0xF], axis=-1).reshape(len(packed), -1)
    return (nibbles.astype(np.int8) ^ 8) - 8


def test_a_round_trip_accepts_the_wrong_order_and_golden_bytes_do_not():
    """golang-design/accel#22: packer and unpacker shared the wrong order."""
    for codes, packed in GOLDEN[:3]:
        wrong = high_nibble_first(np.array([codes]))
        assert from_high_nibble_first(wrong).tolist() == [codes]  # its own unpacker shares the mistake
        assert wrong.tolist() != [packed]
        assert unpack(wrong, len(codes)).tolist() != [codes]


def test_bytes_of_an_interleaved_layout_are_not_ours():
    """pie-project/pie PR#491, amd/Quark PR#30: bytes in one layout, read in the other."""
    assert unpack([INTERLEAVED], 8).tolist() == [[0, 2, 4, 6, 1, 3, 5, 7]]
    assert pack([list(range(8))]).tolist() != [INTERLEAVED]


@pytest.mark.parametrize("columns", [1, 2, 3, 255, 256, 257, 1001])
def test_kernels_and_numpy_agree(columns, rng):
    codes = rng.integers(-8, 8, (5, columns)).astype(np.int8)
    np.testing.assert_array_equal(pack(codes), pack_int4(codes))
    np.testing.assert_array_equal(unpack(pack_int4(codes), columns), codes)


def test_every_byte_unpacks_and_packs_to_itself():
    every = np.arange(256, dtype=np.uint8)[np.newaxis]
    codes = unpack(every, 512)
    assert codes.min() == -8
    assert codes.max() == 7
    np.testing.assert_array_equal(pack(codes), every)


def test_of_a_code_that_does_not_fit_the_low_bits_are_kept():
    assert pack([[17, -9]]).tolist() == [[0x71]]
    with pytest.raises(ValueError, match="4 bits hold -8 to 7; these codes reach from -9 to 17"):
        pack_int4(np.array([17, -9]))


def test_numpy_refuses_floats_and_too_many_codes():
    with pytest.raises(TypeError, match="codes must be integers, not float64"):
        pack_int4(np.array([1.0]))
    with pytest.raises(TypeError, match="packed codes must be uint8, not int8"):
        unpack_int4(np.array([1], np.int8))
    with pytest.raises(ValueError, match="2 bytes hold 4 codes, not 5"):
        unpack_int4(np.array([1, 2], np.uint8), 5)


def test_rows_that_do_not_fit_are_refused_before_the_launch():
    with pytest.raises(ValueError, match=r"codes \(2, 5\) fill 2 rows of 3 bytes; packed is \(2, 2\)"):
        int4.pack(np.zeros((2, 5), np.int8), np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match="codes must be int8 and packed uint8, not int32 and uint8"):
        int4.unpack(np.zeros((2, 2), np.uint8), np.zeros((2, 4), np.int32))


def test_nothing_packs_to_nothing():
    int4.pack(cuda.device_array((3, 0), np.int8), cuda.device_array((3, 0), np.uint8))
    int4.unpack(cuda.device_array((0, 2), np.uint8), cuda.device_array((0, 4), np.int8))
    assert pack_int4(np.empty((3, 0), np.int8)).shape == (3, 0)
    assert unpack_int4(np.empty((3, 0), np.uint8)).shape == (3, 0)


@pytest.mark.parametrize("case", [Case(rows=1, columns=1), Case(rows=5, columns=257), Case(rows=4, columns=512)], ids=str)
def test_the_cost_is_what_is_counted(case):
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device counts")
    codes = np.zeros((case["rows"], case["columns"]), np.int8)
    for launch, cost in ((lambda: pack(codes), int4.cost_of_pack(case)),
                         (lambda: unpack(pack_int4(codes), case["columns"]), int4.cost_of_unpack(case))):
        with simt.profile(sample="all") as profile:
            launch()
        counters = sum((Counter(launch.counters) for launch in profile.launches), Counter())
        assert counters[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
        assert counters[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes


def test_the_kernels_use_no_floating_point():
    pack([[1]])
    unpack([[1]], 1)
    for kernel in (int4.pack_kernel, int4.unpack_kernel):
        for ptx in kernel.inspect_asm().values():
            assert not re.search(r"\.f(16|32|64)\b", ptx)
