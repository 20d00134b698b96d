"""Distances and banks of one warp's addresses, in words."""
from __future__ import annotations

import dataclasses

import pytest

from simt.observe.profile import AccessSample
from simt.report import access

ALL = (1 << 32) - 1


def sample(addresses, mask=ALL, space="global", action="load", size=4):
    return AccessSample("k.py", 3, space, action, size, mask, tuple(addresses))


def warp(addresses, mask=ALL, size=4):
    return access.of(sample(addresses, mask, size=size))


@pytest.mark.parametrize("step", [4, 128, 4096, -4, 0])
def test_the_stride_is_what_lanes_are_apart(step):
    assert access.stride(warp((1 << 20) + step * lane for lane in range(32))) == step


def test_rows_of_sixteen_lanes_have_the_stride_of_most_neighbours():
    # A block of 16 x 16: lanes 0-15 step by 4 KiB, then lane 16 starts over in the next column.
    assert access.stride(warp(4096 * (lane % 16) + 4 * (lane // 16) for lane in range(32))) == 4096


def test_lanes_that_are_off_do_not_count():
    addresses = [1 << 20] * 32
    addresses[4:8] = [0, 64, 128, 192]
    assert access.stride(warp(addresses, mask=0xF0)) == 64
    assert access.stride(warp(addresses, mask=0b101)) is None         # no two neighbours


def test_scattered_addresses_have_no_stride():
    assert access.stride(warp(lane * lane * 4 for lane in range(32))) is None


@pytest.mark.parametrize(("step", "found"), [
    (128, (0, 1, 128)), (8, (0, 16, 128)), (64, (0, 2, 128)), (4, None), (132, None), (0, None)])
def test_two_lanes_of_the_worst_bank_are_named(step, found):
    assert access.colliding(warp(step * lane for lane in range(32))) == found


def test_wide_accesses_collide_within_their_quarter_only():
    # 16 bytes a lane, 32 bytes apart: lanes 0-7 are served together, and lane 4 wants the banks of lane 0.
    assert access.colliding(warp((32 * lane for lane in range(32)), size=16)) == (0, 4, 128)
    assert access.colliding(warp((16 * lane for lane in range(32)), size=16)) is None


SCATTERED = [lane * lane * 4 for lane in range(32)]


@pytest.mark.parametrize(("addresses", "width", "how"), [
    ([4 * lane for lane in range(32)], 32, "row"),
    ([4 + 4 * lane for lane in range(32)], 32, "row"),
    ([-4 * lane + (1 << 20) for lane in range(32)], 32, "row"),
    ([4 * (lane % 16) + 4096 * (lane // 16) for lane in range(32)], 16, "row"),
    ([4 * (lane % 4) + 4096 * (lane // 4) for lane in range(32)], 4, "short rows"),
    ([12 * lane for lane in range(32)], 32, "strided"),
    ([4096 * (lane % 16) + 4 * (lane // 16) for lane in range(32)], 16, "strided"),
    (SCATTERED, 32, "irregular"),
    ([64] * 32, 32, "unknown"),
])
def test_the_pattern_of_a_warp(addresses, width, how):
    assert access.pattern(sample(addresses), width) == how


def test_a_lane_alone_has_no_pattern():
    assert access.pattern(sample(SCATTERED, mask=0b100), 32) == "unknown"


def test_words_say_how_far_the_worst_access_of_a_line_is_apart(made_up):
    near, far = sample(4 * lane for lane in range(32)), sample(4096 * lane for lane in range(32))
    subject = made_up(samples=[near, far, dataclasses.replace(far, line=4)])
    worst = access.worst_at(subject, ("k.py", 3), "global", "load")
    assert access.apart(worst, "strided") == ": neighbouring threads read addresses 4 KiB apart"
    assert access.worst_at(subject, ("k.py", 3), "global", "store") is None and access.apart(None, "unknown") == ""


def test_words_say_where_a_row_starts_and_that_scattered_addresses_have_no_distance():
    row = sample(4 + 4 * lane for lane in range(32))
    assert access.apart(row, "row") == ": neighbouring threads read neighbouring addresses, from 4 B past a multiple of 32 B on"
    assert access.apart(sample(SCATTERED), "irregular") == ": neighbouring threads read addresses without a common distance"


def test_words_name_the_lanes_that_share_a_bank(made_up):
    free, taken = (sample((step * lane for lane in range(32)), space="shared", action="store") for step in (4, 256))
    subject = made_up(samples=[free, taken])
    assert access.collision(subject, ("k.py", 3), "store") == ": lanes 0 and 1 write words 256 B apart, in one bank"
    assert access.collision(made_up(samples=[free]), ("k.py", 3), "store") == ""


@pytest.mark.parametrize(("size_bytes", "text"), [(4, "4 B"), (1024, "1 KiB"), (4100, "4100 B"), (8192, "8 KiB"), (0, "0 B")])
def test_lengths_are_whole_kibibytes_or_bytes(size_bytes, text):
    assert access.length(size_bytes) == text
