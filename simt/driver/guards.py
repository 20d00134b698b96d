"""What numba leaves out around a launch: a check of explicit signatures, and the place where debug=True found an error.

With one explicit signature numba passes arguments on unchecked: a float64 array given to a kernel of ``float32[:]`` is read
as what it is not, and an argument too few reads past the others. Here that is a TypeError. Where a kernel with debug=True
raises, numba tells thread and block as z, y, x, and no line for a division by zero.
"""
from __future__ import annotations

import functools
import re
from types import ModuleType
from typing import Any

from simt.runtime.arguments import source_line

PLACE = re.compile(r"tid=\[(\d+), (\d+), (\d+)\] ctaid=\[(\d+), (\d+), (\d+)\]")
LINE = re.compile(r"file (.+), line (\d+), tid=")


class DebugPlace:
    """A location for numba's messages, read from the debug information that the compiler just attached.

    location: the DILocation of the instructions being made
    """

    def __init__(self, location: Any) -> None:
        facts = dict(location.operands)
        scope = dict(facts["scope"].operands)
        file = dict(scope["file"].operands)
        self.line: int = facts["line"]
        self.filename = f"{file['directory']}/{file['filename']}"
        self.name: str = scope["name"]

    def _raw_function_name(self) -> str:
        """numba.core.ir.Loc has this method."""
        return self.name.split("::")[-1]


def place_of(builder: Any) -> DebugPlace | None:
    """Where the builder's next instruction comes from; None where the compiler does not say."""
    try:
        return DebugPlace(builder.debug_metadata)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def guard_declared(module: ModuleType, kernel: Any, name: str) -> None:
    """Check the arguments of a kernel with one explicit signature. module: numba's dispatcher module."""
    if isinstance(kernel, module._Kernel) and not kernel.extensions:
        declared = [Declared(module, kind) for kind in kernel.argument_types]
        kernel.launch = functools.partial(launch_declared, name, declared, kernel.launch)


def guard_debugged(module: ModuleType, kernel: Any, name: str) -> None:
    """Tell where a kernel with debug=True raises."""
    if isinstance(kernel, module._Kernel) and kernel.debug:
        kernel.launch = functools.partial(launch_debugged, name, kernel.launch)


class Declared:
    """One argument of an explicit signature. Only arrays are checked: numba converts the others."""

    def __init__(self, module: ModuleType, kind: Any) -> None:
        self.module, self.kind = module, kind
        self.is_array = isinstance(kind, module.types.Array)
        self.dtype, self.flag = None, {"C": "C_CONTIGUOUS", "F": "F_CONTIGUOUS"}.get(getattr(kind, "layout", ""))
        if self.is_array:
            try:
                self.dtype = module.numpy_support.as_dtype(kind.dtype)
            except (NotImplementedError, module.errors.NumbaError):
                pass                    # a type that NumPy lacks

    def fits(self, value: Any) -> bool:
        """Whether a kernel compiled for the declared array type reads the value right."""
        try:
            if value.dtype == self.dtype and value.ndim == self.kind.ndim and (not self.flag or value.flags[self.flag]):
                return True
        except (AttributeError, KeyError, TypeError):
            pass                        # no array of NumPy or numba, but perhaps one by its interface
        given = self.given(value)
        return isinstance(given, self.module.types.Array) and given.ndim == self.kind.ndim \
            and self.kind.layout in ("A", given.layout) and self.same_numbers(given.dtype)

    def same_numbers(self, given: Any) -> bool:
        """The same type, or an integer of the same width: int32 and uint32 are often taken for one another."""
        kind, integer = self.kind.dtype, self.module.types.Integer
        return given == kind or isinstance(given, integer) and isinstance(kind, integer) and given.bitwidth == kind.bitwidth

    def given(self, value: Any) -> Any:
        """Numba's type of a value; raises numba's own error where there is none."""
        return self.module.typeof(value, self.module.Purpose.argument)


def launch_declared(name: str, declared: list[Declared], launch: Any, arguments: tuple, *configuration: Any) -> Any:
    if len(arguments) != len(declared):
        raise TypeError(f"kernel {name} is declared with {len(declared)} argument{'s' * (len(declared) != 1)}, "
                        f"{len(arguments)} {'are' if len(arguments) != 1 else 'is'} given")
    for position, (one, value) in enumerate(zip(declared, arguments, strict=True)):
        if one.is_array and not one.fits(value):
            raise TypeError(f"kernel {name}: argument {position}: {one.given(value)} does not match the declared {one.kind}. "
                            "Its bytes would be read as something else: convert the array, or leave the signature out of "
                            "@cuda.jit")
    return launch(arguments, *configuration)


def launch_debugged(name: str, launch: Any, *arguments: Any) -> Any:
    try:
        return launch(*arguments)
    except Exception as error:
        if found := PLACE.search(str(error)):
            z, y, x, block_z, block_y, block_x = (int(number) for number in found.groups())
            line = LINE.search(str(error))
            text = source_line(line[1], int(line[2])) if line else ""
            at = f"at {line[1]}:{line[2]}: {text}\n  " if line else ""
            error.add_note(f"kernel {name}\n  {at}by block ({block_x}, {block_y}, {block_z}), thread ({x}, {y}, {z})")
        raise
