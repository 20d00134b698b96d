"""Which device a climb runs on, and whose facts a GPU's product name means."""

from __future__ import annotations

import pytest

from workbook import target


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("nvidia-h200", "h200"),
        ("nvidia-a100-sxm4-80gb", "a100"),
        ("nvidia-geforce-rtx-4090", "rtx4090"),
        ("nvidia-rtx-a6000", "a6000"),
        ("tesla-t4", "t4"),
    ],
)
def test_a_product_name_finds_the_facts_of_its_device(key, name):
    assert target.facts_for(key).name == name


@pytest.mark.parametrize("key", ["nvidia-t400-4gb", "nvidia-geforce-rtx-3060", "nvidia-rtx-6000-ada-generation"])
def test_a_gpu_without_facts_on_file_gets_none(key):
    assert target.facts_for(key) is None


def test_an_unknown_device_is_refused_before_anything_is_enabled():
    with pytest.raises(ValueError, match="did you mean 'h100'"):
        target.choose("h10")
