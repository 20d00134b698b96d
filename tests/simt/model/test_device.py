"""Device facts: complete, sourced, found by name."""
from __future__ import annotations

import dataclasses

import pytest

from simt.model.device import Device, load, names


def test_the_modelled_devices_are_these():
    assert names() == ("a100", "a6000", "h100", "h200", "rtx4090", "t4")


@pytest.mark.parametrize("name", names())
def test_every_number_has_a_tag_and_a_source(name):
    device = load(name)
    facts = {field.name for field in dataclasses.fields(Device)} - {"name", "title", "sources"}
    known = {fact for fact in facts if getattr(device, fact) is not None}
    assert device.sources.keys() == known
    for fact, source in device.sources.items():
        assert source.tag in ("read", "quoted", "derived", "memory"), fact
        assert source.text, fact


@pytest.mark.parametrize(("name", "tflops"), [
    # SMs * lanes * 2 * clock; the vendor's FP32 figures.
    ("h100", 66.9), ("a100", 19.5), ("a6000", 38.7), ("t4", 8.1), ("rtx4090", 82.6),
])
def test_peak_fp32_is_the_advertised_one(name, tflops):
    assert load(name).peak_gflops() / 1000 == pytest.approx(tflops, abs=0.05)


def test_peaks_of_other_types_follow_their_lanes():
    a100 = load("a100")
    assert a100.peak_gflops("fp64") == a100.peak_gflops() / 2
    assert a100.peak_gflops("fp16") == 4 * a100.peak_gflops()
    assert a100.peak_gflops("int8") / 1000 == pytest.approx(78, abs=0.1)     # 64 lanes of dp4a, 8 operations each
    with pytest.raises(ValueError, match="no peak for dtype 'int4'"):
        a100.peak_gflops("int4")


@pytest.mark.parametrize(("name", "near"), [("h10", "h100"), ("rtx-4090", "rtx4090"), ("A10O", "a100")])
def test_an_unknown_name_suggests_the_nearest(name, near):
    with pytest.raises(ValueError, match=f"did you mean '{near}'"):
        load(name)


def test_an_unknown_name_with_nothing_near_lists_what_there_is():
    with pytest.raises(ValueError, match="no modelled device 'mi300'; there are a100, a6000") as caught:
        load("mi300")
    assert "did you mean" not in str(caught.value)


def test_names_are_found_in_any_case():
    assert load("H100") == load("h100")


@pytest.mark.parametrize("name", names())
def test_facts_of_one_device_agree_with_each_other(name):
    device = load(name)
    assert device.threads_per_sm == 32 * device.warps_per_sm
    assert device.shared_bytes_per_sm == 1024 * device.shared_carveouts_kib[-1]
    assert device.shared_bytes_per_block_optin + device.shared_bytes_reserved == device.shared_bytes_per_sm
    assert device.l1_latency_cycles < device.l2_latency_cycles
    assert 0 < device.dram_efficiency < 1
