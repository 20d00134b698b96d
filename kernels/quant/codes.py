"""What every quantising kernel does with one number: its magnitude, the scale of a group, the code.

Device functions; kernels.quant.formats says in NumPy what they compute. Numba makes int64 of the & and of the - of two
int32, hence the casts: a shuffle of an int64 is two instructions.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, int8, int32
from numba.cuda import libdevice

from kernels.quant.formats import INT8_LARGEST

LEAST_CODE, LARGEST_CODE = int32(-INT8_LARGEST), int32(INT8_LARGEST)
INFINITY = float32(np.inf)
WITHOUT_SIGN = int32(0x7FFFFFFF)


@cuda.jit(device=True)
def magnitude(x):
    """|x| as the integer of its bits, which orders like the numbers do, with infinity above them and NaN above that.

    So an integer maximum finds the absmax and keeps a NaN, which the maximum of floats drops (PTX ISA, max).
    """
    return int32(libdevice.float_as_int(x) & WITHOUT_SIGN)


@cuda.jit(device=True)
def scale_of(absmax):
    """The scale, float32, of a group whose largest magnitude is `absmax`."""
    return libdevice.int_as_float(absmax) / float32(INT8_LARGEST)


@cuda.jit(device=True)
def code_of(x, scale):
    """The int8 code of x. An infinity divided by one is a NaN, which the conversion makes 0 (PTX ISA, cvt)."""
    divisor = scale if scale > 0 else INFINITY  # a scale that is 0 or a NaN makes every code 0
    code = libdevice.float2int_rn(x / divisor)  # to the nearest integer, ties to even
    return int8(min(max(code, LEAST_CODE), LARGEST_CODE))
