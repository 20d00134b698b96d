"""Shared, local and constant memory: declaration, aliasing, alignment."""
from __future__ import annotations

import numpy as np
import pytest
from llvmlite import ir
from numba import cuda, float32, int32, int64, types
from numba.cuda.extending import intrinsic

LENGTH = 1
TABLE = np.array([1, 2, 3])
BYTES, FLOATS = np.array([1, 2, 3], np.int8), np.array([1.5], np.float32)


def test_slices_of_dynamic_shared_memory_do_not_alias():
    """numba#5073, numba PR#5099"""
    @cuda.jit
    def halves(out):
        whole = cuda.shared.array(0, int32)
        first, second = whole[0:1], whole[1:2]
        first[0], second[0] = 1, 2
        out[0], out[1] = first[0], second[0]

    out = np.zeros(2, np.int32)
    halves[1, 1, 0, 8](out)
    assert out.tolist() == [1, 2]


def test_two_dynamic_shared_arrays_are_the_same_bytes_and_slices_of_one_are_the_way_out():
    """numba PR#8839, JuliaGPU/CUDA.jl#555"""
    @cuda.jit
    def overlap(out):
        floats, integers = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
        floats[0] = 1
        out[0] = integers[0]
        floats[1:][0] = 2
        out[1] = integers[0]

    out = np.zeros(2, np.int32)
    overlap[1, 1, 0, 8](out)
    assert out.tolist() == [np.float32(1).view(np.int32)] * 2


def test_slice_bounds_on_shared_arrays_are_those_of_numpy():
    """mlir PR#263"""
    @cuda.jit
    def copy(part, row):
        row[0] = part.size
        for k in range(part.size):
            row[1 + k] = part[k]

    @cuda.jit
    def slices(out):
        s = cuda.shared.array(8, int32)
        for k in range(8):
            s[k] = k
        copy(s[-3:], out[0])
        copy(s[::2], out[1])
        copy(s[5:100], out[2])
        copy(s[-100:2], out[3])
        copy(s[6:2], out[4])
        copy(s[::-3], out[5])

    out = np.full((6, 9), -1, np.int32)
    slices[1, 1](out)
    s = np.arange(8)
    for row, part in zip(out, (s[-3:], s[::2], s[5:100], s[-100:2], s[6:2], s[::-3]), strict=True):
        assert row[0] == part.size and row[1:1 + part.size].tolist() == part.tolist()


def test_a_slice_with_step_zero_is_an_error_under_debug():
    """mlir PR#263"""
    @cuda.jit(debug=True, opt=False)
    def stepped(a, step):
        a[0] = a[::step].size

    with pytest.raises(ValueError, match="slice step cannot be zero"):
        stepped[1, 1](np.zeros(4, np.int32), 0)


def test_a_shape_that_is_no_constant_is_refused_with_the_ways_out(hinted):
    """numba#8300, numba#7314"""
    @cuda.jit
    def shared(out, n):
        out[0] = cuda.shared.array(shape=(n,), dtype=int32)[0]

    @cuda.jit
    def local(out, n):
        out[0] = cuda.local.array(n, int32)[0]

    for kernel in (shared, local):
        with hinted("TypingError", "compile-time constant"):
            kernel[1, 1](np.zeros(1, np.int32), 3)


def test_shared_arrays_larger_than_a_block_may_have_are_refused_with_both_sizes(hinted):
    """numba#8300 (neighbouring): the linker knows the limit of the device"""
    @cuda.jit
    def large(out):
        tile = cuda.shared.array((512, 512), float32)
        tile[cuda.threadIdx.x, 0] = out[0]
        cuda.syncthreads()
        out[0] = tile[1, 0]

    with hinted("nvJitLinkError", "shared arrays take 1048576 bytes together, and a block of this device has at most 232448"):
        large[1, 32](np.zeros(1, np.float32))


def test_a_global_is_frozen_when_the_kernel_is_compiled():
    """numba#3265"""
    global LENGTH

    @cuda.jit("void(int32[:])")
    def lengths(out):
        out[0] = cuda.local.array(LENGTH, int32).size
        out[1] = LENGTH

    out = np.zeros(2, np.int32)
    LENGTH = 10
    try:
        lengths[1, 1](out)
    finally:
        LENGTH = 1
    assert out.tolist() == [1, 1]


def test_a_global_array_is_copied_when_the_kernel_is_compiled():
    """numba#9084, nbcuda PR#666, numba PR#8359"""
    @cuda.jit
    def first(out):
        out[0] = TABLE[0]

    out = np.zeros(1, np.int64)
    first[1, 1](out)
    TABLE[0] = 9
    try:
        first[1, 1](out)
    finally:
        TABLE[0] = 1
    assert out[0] == 1


def test_a_large_local_array_goes_to_a_device_function_and_is_reported():
    """numba#6103, numba#3786"""
    @cuda.jit
    def fill(a):
        for k in range(500):
            a[k] = k
        return a[499] + a[0]

    @cuda.jit
    def use(out):
        a = cuda.local.array(500, int64)
        out[cuda.threadIdx.x] = fill(a)
        for k in range(500):
            a[k] = 0
        out[cuda.threadIdx.x] += a[out[0] % 500]

    out = np.zeros(2, np.int64)
    use[1, 2](out)
    assert out.tolist() == [499, 499]
    assert list(use.get_local_mem_per_thread().values()) == [4000]


def test_constant_arrays_of_different_widths_are_aligned():
    """numba PR#3382: 3 bytes, then a float32"""
    @cuda.jit
    def sums(out):
        i = cuda.threadIdx.x
        out[i] = cuda.const.array_like(BYTES)[i + 2] + cuda.const.array_like(FLOATS)[i]

    out = np.zeros(1, np.float32)
    sums[1, 1](out)
    assert out[0] == 4.5


def test_a_kernel_cannot_write_constant_memory(hinted):
    """numba PR#3382 (neighbouring): refused while compiling"""
    @cuda.jit
    def write(out):
        cuda.const.array_like(FLOATS)[0] = out[0]

    with hinted("TypingError", "the array is read-only"):
        write[1, 1](np.zeros(1, np.float32))


RECORDS = {"i8 f4 u1": [("a", "i8"), ("b", "f4"), ("c", "u1")], "u1 f4 i8": [("a", "u1"), ("b", "f4"), ("c", "i8")]}


@pytest.mark.parametrize("align", [True, False], ids=["aligned", "packed"])
@pytest.mark.parametrize("fields", RECORDS)
def test_fields_of_records_are_right_or_refused_by_their_alignment(fields, align):
    """numpy/numpy#24339, numba#712, numba#9471, nbcuda#791"""
    dtype = np.dtype(RECORDS[fields], align=align)

    @cuda.jit
    def sums(records, out):
        i = cuda.threadIdx.x
        out[i] = records[i].a + records[i].b + records[i].c

    records, out = np.zeros(4, dtype), np.zeros(4)
    records["a"], records["b"], records["c"] = 1, np.arange(4), 10
    if fields == "u1 f4 i8" and not align:
        with pytest.raises(Exception, match="offset=1.*b of type float32 is not aligned"):
            sums[1, 4](records, out)
    else:
        sums[1, 4](records, out)
        assert out.tolist() == [11, 12, 13, 14]


@intrinsic
def load_four(typing_context, array, index):
    """Sum of the first and the last of the four elements at an index, loaded with one 16-byte access."""
    signature = float32(array, types.int64)

    def generate(context, builder, signature, arguments):
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(found.data, [arguments[1]])
        value = builder.load(builder.bitcast(place, ir.VectorType(ir.FloatType(), 4).as_pointer(place.type.addrspace)))
        value.align = 16
        ends = [builder.extract_element(value, ir.Constant(ir.IntType(32), k)) for k in (0, 3)]
        return builder.fadd(*ends)

    return signature, generate


@cuda.jit
def copied(a, held, at):
    for k in range(16):
        held[k] = a[k]
    return load_four(held, at)


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_a_16_byte_access_has_to_lie_at_a_multiple_of_16_in_every_memory(fault, space):
    """ggml-org/llama.cpp PR#18815, NVIDIA/cccl PR#7162, numba#2393: in registers or spilled, it is the same fault"""
    if space == "global":
        @cuda.jit
        def load(a, at):
            a[0] = load_four(a, at)
    elif space == "shared":
        @cuda.jit
        def load(a, at):
            a[0] = copied(a, cuda.shared.array(16, float32), at)
    else:
        @cuda.jit
        def load(a, at):
            a[0] = copied(a, cuda.local.array(16, float32), at)

    a = np.arange(16, dtype=np.float32)
    load[1, 1](a, 4)
    assert a[0] == 4 + 7
    begins = ["it begins 24 bytes into a, which itself begins at address % 16 == 0"] if space == "global" else []
    with fault("MISALIGNED_ADDRESS", "read misaligned", "16-byte access at address % 16 == 8; it must be 0", *begins):
        load[1, 1](a, 6)
