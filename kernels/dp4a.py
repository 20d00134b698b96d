"""Four products of bytes and their sum, in one instruction.

dp4a(a, b, total) -> int32: total + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]

a, b:   int32, each four signed bytes; which byte is first does not matter, as long as both agree
total:  int32; the sum wraps beyond 2**31, as int32 does everywhere

It compiles to PTX `dp4a.s32.s32` (PTX ISA, Integer Arithmetic Instructions: dp4a; compute capability 6.1 and later).
Numba has no spelling of its own; NVVM makes dp4a of a sum of four products of bytes, too, but packs the words first. Four
int8 are one int32 through a view: `codes.view("int32")`, where a row's length is a multiple of 4 and its memory starts at
one; `words` checks both.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.cuda.extending import intrinsic

WIDTH = 4
PTX = "dp4a.s32.s32 $0, $1, $2, $3;"


@intrinsic
def dp4a(typing_context, a, b, total):
    """The sum of `total` and the four products of the signed bytes of `a` and `b`."""
    for name, kind in (("a", a), ("b", b), ("total", total)):
        if types.unliteral(kind) != types.int32:
            raise TypingError(
                f"dp4a: {name} must be int32, not {kind}; a word of four codes comes from a view of an int8 array as int32, "
                "and a total starts as int32(0)"
            )

    def codegen(context, builder, sig, args):
        word = ir.IntType(32)
        instruction = ir.InlineAsm(ir.FunctionType(word, [word] * 3), PTX, "=r,r,r,r")
        return builder.call(instruction, args)

    return types.int32(types.int32, types.int32, types.int32), codegen


def words(array):
    """The same memory as int32, four codes each: (rows, k) int8 to (rows, k/4) int32.

    Raises ValueError where 4 does not divide k, or where the array does not start at a multiple of 4 bytes.
    """
    address = array.device_ctypes_pointer.value
    if array.shape[-1] % WIDTH or address % WIDTH:
        raise ValueError(
            f"rows of {array.shape[-1]} codes from address {address:#x} are not whole words of {WIDTH}: "
            "pad k with zero codes, and start at a multiple of 4 bytes"
        )
    return array.view("int32")
