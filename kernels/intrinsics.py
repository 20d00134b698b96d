"""16-byte loads and stores: four neighbouring 4-byte elements in one instruction.

load4(array, index)          -> 4-tuple of array.dtype, from array[index] and the three elements after it
store4(array, index, values) -> None, the reverse

array:  C-contiguous, float32, int32 or uint32, in global, shared or local memory
index:  integer (1-D array) or tuple of integers, one per axis, as in array[row, col]; never negative
values: 4-tuple of exactly array.dtype
The first element must lie on a 16-byte boundary: in global memory every row does when its length is a multiple of 4; a
shared or local array does when it is made with `alignment=16` and its rows are multiples of 4. A real GPU stops with
"misaligned address" otherwise (CUDA C++ Programming Guide, Device Memory Accesses).

They compile to PTX `ld.global.v4`, `st.shared.v4`, and so on (PTX ISA, ld and st); Numba has no spelling of its own.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.cuda import cgutils
from numba.cuda.extending import intrinsic

WIDTH = 4
WIDTH_BYTES = 16
DTYPES = (types.float32, types.int32, types.uint32)


def _index_type(name: str, array, index):
    """The index as Numba should pass it: one int64 per axis. Raises TypingError in the reader's words."""
    if not isinstance(array, types.Array):
        raise TypingError(f"{name}: the first argument must be an array, not {array}")
    if array.dtype not in DTYPES:
        raise TypingError(
            f"{name}: the array holds {array.dtype}; 16-byte accesses here move four float32, int32 or uint32 elements"
        )
    if array.layout != "C":
        raise TypingError(f"{name}: the array must be C-contiguous, so that four neighbours in a row are 16 bytes")
    axes = [index] if isinstance(index, types.Integer) else list(getattr(index, "types", ()))
    if len(axes) != array.ndim or not all(isinstance(axis, types.Integer) for axis in axes):
        raise TypingError(f"{name}: a {array.ndim}-D array needs {array.ndim} integer indices, not {index}")
    return types.UniTuple(types.int64, array.ndim) if isinstance(index, types.BaseTuple) else types.int64


def _vector_pointer(context, builder, array_type, array, index):
    """Address of array[index] as a pointer to <4 x dtype>; no negative-index fix-up."""
    fields = context.make_array(array_type)(context, builder, value=array)
    axes = cgutils.unpack_tuple(builder, index) if isinstance(index.type, ir.ArrayType) else [index]
    pointer = cgutils.get_item_pointer(context, builder, array_type, fields, axes)
    vector = ir.VectorType(context.get_data_type(array_type.dtype), WIDTH)
    return builder.bitcast(pointer, vector.as_pointer(pointer.type.addrspace))


@intrinsic
def load4(typing_context, array, index):
    """Four elements from array[index] on, in one 16-byte load."""
    result = types.UniTuple(array.dtype, WIDTH) if isinstance(array, types.Array) else types.none
    signature = result(array, _index_type("load4", array, index))

    def codegen(context, builder, sig, args):
        pointer = _vector_pointer(context, builder, sig.args[0], *args)
        vector = builder.load(pointer, align=WIDTH_BYTES)
        lanes = [builder.extract_element(vector, ir.IntType(32)(lane)) for lane in range(WIDTH)]
        return context.make_tuple(builder, sig.return_type, lanes)

    return signature, codegen


@intrinsic
def store4(typing_context, array, index, values):
    """Four values to array[index] and the three elements after it, in one 16-byte store."""
    index = _index_type("store4", array, index)
    if not array.mutable:
        raise TypingError("store4: the array is read-only")
    if values != types.UniTuple(array.dtype, WIDTH):
        raise TypingError(f"store4: the array holds {array.dtype}, so values must be four {array.dtype}, not {values}")
    signature = types.void(array, index, values)

    def codegen(context, builder, sig, args):
        array_value, index_value, values_value = args
        pointer = _vector_pointer(context, builder, sig.args[0], array_value, index_value)
        vector = ir.Constant(pointer.type.pointee, ir.Undefined)
        for lane, value in enumerate(cgutils.unpack_tuple(builder, values_value)):
            vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
        builder.store(vector, pointer, align=WIDTH_BYTES)
        return context.get_dummy_value()

    return signature, codegen


def rows_aligned(*arrays) -> bool:
    """Whether every row of these device arrays (4-byte elements) starts on a 16-byte boundary, as load4 needs."""
    return all(array.shape[-1] % WIDTH == 0 and array.device_ctypes_pointer.value % WIDTH_BYTES == 0 for array in arrays)
