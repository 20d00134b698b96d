"""Lanes and instructions in a learner's words."""
from __future__ import annotations

import pytest

from simt.runtime.names import counted, function_name, lanes_of


@pytest.mark.parametrize("mask, words", [
    (0xFFFFFFFF, "lanes 0-31"), (1, "lane 0"), (1 << 31, "lane 31"), (0b1011, "lanes 0-1, 3"), (0xFFF00000, "lanes 20-31"),
    (0x80000001, "lanes 0, 31")])
def test_a_mask_is_told_as_ranges_of_lanes(mask, words):
    assert lanes_of(mask) == words


@pytest.mark.parametrize("opcode, name", [
    ("shfl.sync.bfly.b32", "shfl_xor_sync (PTX shfl.sync.bfly.b32)"), ("bar.sync", "syncthreads (PTX bar.sync)"),
    ("bar.warp.sync", "syncwarp (PTX bar.warp.sync)"), ("bar.red.popc.u32", "syncthreads_count (PTX bar.red.popc.u32)"),
    ("vote.sync.ballot.b32", "ballot_sync (PTX vote.sync.ballot.b32)"), ("redux.sync.add.u32", "redux.sync.add.u32")])
def test_an_instruction_is_told_as_the_function_that_makes_it(opcode, name):
    assert function_name(opcode) == name


def test_one_of_a_kind_is_singular() -> None:
    assert [counted(number, "whole warp") for number in (1, 2)] == ["1 whole warp", "2 whole warps"]
