"""What errors of numba's compiler and of the linker mean, in one sentence: a note on the error, which stays as it is.

Rows, tried in order: a pattern in "ErrorClass: message", and the sentence. Groups of a pattern are numbers for the sentence.
"""
from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable
from types import FrameType

HINTS = (
    (r"No implementation of function Function\(<function (?:shared|local)\.array",
     "the shape of a shared or local array is a compile-time constant: use a number, or a global or closure constant. Shared "
     "memory of a size known at the launch has shape 0, and the launch says its bytes: kernel[grid, block, stream, bytes]"),
    (r"Function\(<class 'numba\.cuda\.stubs\.atomic\.(?:and_|or_|xor|inc|dec|exch)'>",
     "this atomic works on 32-bit and 64-bit integers only"),
    (r"Function\(<class 'numba\.cuda\.stubs\.atomic\.",
     "atomics work on int32, uint32, int64, uint64, float32 and float64: use an array of one of these"),
    (r"No conversion from .* to none for '\$\S*return_value|CUDA kernel must have void return type",
     "a kernel returns nothing (void return type): write the result into an output array"),
    (r"uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)",
     "the kernel's shared arrays take {0} bytes together, and a block of this device has at most {1}: use smaller tiles"),
    (r"Cannot modify readonly array",
     "the array is read-only: a constant or global array of the module, or a NumPy array whose flags.writeable is False"),
    (r"KeyError: <ufunc|_ol_array_allocate|NRT required but not enabled[\s\S]*slice\(",
     "an array expression needs memory for its result, and a kernel has none: write a loop over the elements, or let each "
     "thread compute one"),
    (r"NRT required but not enabled",
     "lists, strings and the like need memory that a kernel does not have: pass arrays and numbers"),
    (r"Unsupported array index type float",
     "an index is an integer, and this one is a float: i // 2, not i / 2; int(...) around math.floor, math.ceil and whatever "
     "else gives a float"),
    (r"array\(UniTuple\(int\d+ x [23]\)|[gs]etitem\(array\([^)]*1d[^)]*\), UniTuple",
     "an index into one axis is one number, and cuda.grid(2) is a pair: `x, y = cuda.grid(2)`, then perhaps y * width + x"),
)


def is_about_the_kernel(error: BaseException) -> bool:
    """Whether numba refuses the kernel, rather than fails itself: numba and numba.cuda each have such a class."""
    return any(kind.__name__ == "NumbaError" for kind in type(error).__mro__)


def add_hint(error: BaseException, function: Callable) -> None:
    """Note the kernel where the message names no place, and the first sentence that fits, once."""
    if is_about_the_kernel(error) and 'File "' not in str(error):
        path, line = function.__code__.co_filename, function.__code__.co_firstlineno
        for frame, _ in traceback.walk_tb(error.__traceback__):
            line = line_looked_at(frame, path) or line
        text = linecache.getline(path, line).strip()
        note(error, f"in kernel {function.__name__}, {path}:{line}" + (f": {text}" if text else ""))
    text = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    for pattern, sentence in HINTS:
        if found := re.search(pattern, text):
            note(error, "hint: " + sentence.format(*(int(number, 0) for number in found.groups())))
            return


def line_looked_at(frame: FrameType, path: str) -> int | None:
    """The line of a file that numba's compiler was looking at in a frame.

    numba-cuda loses the location of errors that numba's own modules raise; its type inference still holds it.
    """
    location = getattr(frame.f_locals.get("self"), "loc", None)
    return location.line if getattr(location, "filename", None) == path else None


def note(error: BaseException, text: str) -> None:
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)
