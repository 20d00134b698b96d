"""A part of numba-cuda's own tests that covers the breadth of the device in little time: see fast.toml."""
from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.upstream import expected, runner

PARTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("fast.toml").read_text(encoding="utf-8"))


@pytest.mark.many
@pytest.mark.parametrize("part", PARTS)
def test_numba_cudas_own_tests_pass(part: str) -> None:
    found = runner.run_shard(PARTS[part]).values()
    wrong = expected.surprises(found, expected.read())
    missing = [name for name in PARTS[part] if not any(belongs(result.test, name) for result in found)]
    assert not wrong, "\n".join([*wrong, expected.other_version()])
    assert not missing, f"selected in fast.toml, but numba-cuda has no such tests: {missing}"
    assert sum(result.outcome == "passed" for result in found) >= len(PARTS[part])


def belongs(test: str, name: str) -> bool:
    return test == name or test.startswith(name + "::")


def test_the_fast_part_names_every_test_once() -> None:
    names = [name for part in PARTS.values() for name in part]
    twice = [(one, other) for k, one in enumerate(names) for other in names[k + 1:]
             if belongs(one, other) or belongs(other, one)]
    assert not twice
