"""The exception of a launch that failed on the emulated device."""
from __future__ import annotations


class Fault(Exception):
    """code: CUDA error number; message: one line; note: the lesson for the reader, several lines."""

    def __init__(self, code: int, message: str, note: str):
        super().__init__(message)
        self.code, self.message, self.note = code, message, note


class WrongSetting(ValueError):
    """A variable of the environment has a value that means nothing: the reader's to mend."""
