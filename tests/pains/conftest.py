"""Behaviours that people reported as puzzling, each with the answer that the emulated device has to give.

One file per group of reports; a docstring names the public report ("numba#7324" is issue 7324 of numba/numba, "nbcuda" is
NVIDIA/numba-cuda, "mlir" is NVIDIA/numba-cuda-mlir). Reports of quantisation and of norms stand at the tests of the kernels, in
tests/kernels.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from cuda.core._utils.cuda_utils import CUDAError


@pytest.fixture(autouse=True)
def on_the_emulated_device(emulated: None) -> None:
    """All tests of this folder are."""


@pytest.fixture
def fault() -> Callable:
    """``with fault("ILLEGAL_ADDRESS", "part of the lesson", …):`` the launch inside fails with that lesson."""

    @contextmanager
    def failing(code: str, *parts: str) -> Iterator[None]:
        with pytest.raises(CUDAError, match=code) as failed:
            yield
        note, = failed.value.__notes__
        assert [part for part in parts if part not in note] == [], note

    return failing


@pytest.fixture
def hinted() -> Callable:
    """``with hinted("ErrorClass", "words of the hint"):`` the compiler refuses the kernel inside, and the hint is noted."""

    @contextmanager
    def refused(kind: str, words: str) -> Iterator[None]:
        with pytest.raises(Exception) as failed:        # noqa: B017  numba has two classes of each name
            yield
        assert type(failed.value).__name__ == kind
        assert any(words in note for note in failed.value.__notes__)

    return refused
