"""The toy ladder as a family of its own, and its records."""

from __future__ import annotations

import copy

import pytest

from workbook.records import recording


@pytest.fixture
def family(toy, monkeypatch):
    """The toy ladder is the only one there is."""
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"toy": ("toy",)})
    return toy


@pytest.fixture
def document(family, target):
    """A modelled record of the toy ladder, made anew for each test."""
    return copy.deepcopy(recording.document("toy", target, recording.make([family], target, prove=False)))


@pytest.fixture
def measured(family, gpu):
    """A measured record of the toy ladder."""
    return copy.deepcopy(recording.document("toy", gpu, recording.make([family], gpu, prove=False)))
