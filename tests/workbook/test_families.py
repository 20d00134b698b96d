"""A bare step name works while one family has it."""

from __future__ import annotations

import pytest

from kernels.ladder import UnknownName
from workbook import families


@pytest.fixture
def two_families(toy, monkeypatch):
    monkeypatch.setattr(families, "ladder_names", lambda: ["left", "right"])
    monkeypatch.setattr(families, "load_ladder", {"left": toy, "right": toy.steps[:1]}.get)


def test_a_name_that_one_family_has_is_found(two_families):
    assert families.find_step("wide").id == "toy/wide"


def test_a_name_that_two_families_have_asks_which(two_families):
    with pytest.raises(UnknownName, match="^'slow' is a step of several ladders: say toy/slow or toy/slow$"):
        families.find_step("slow")
