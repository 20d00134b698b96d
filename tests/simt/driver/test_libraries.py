"""Modules and kernels: what numba asks about them comes from the real cubin; modules load as text too."""
from __future__ import annotations

import ctypes
import pickle

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from cuda.core import LaunchConfig, ObjectCode, Stream, launch
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda, float32

import simt
from simt.driver import cubin
from simt.driver.errors import DriverError
from simt.driver.image import Image, pack, read, whole_elf
from simt.driver.libraries import LIBRARIES
from simt.driver.session import current

PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 answer = 42;
.visible .global .align 8 .b8 table[24];
.visible .entry store(.param .u64 .ptr target, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [target];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""


@pytest.fixture(scope="module")
def spilling():
    """A kernel with a stack frame, static shared memory, a constant array and, in 24 registers, spills."""
    weights = np.arange(16, dtype=np.float32)

    def spilling(source, target):
        tile = cuda.shared.array((16, 4), float32)
        window = cuda.local.array(48, float32)
        constant = cuda.const.array_like(weights)
        index = cuda.grid(1)
        tile[cuda.threadIdx.x, 0] = source[index]
        for step in range(48):
            window[step] = source[(index + step) % 64] * constant[(index + step) % 16]
        cuda.syncthreads()
        total = tile[index % 16, 0]
        for step in range(48):
            total += window[(index * step) % 48] / (window[step] + 3)
        target[index] = total

    return cuda.jit("void(float32[::1], float32[::1])", max_registers=24)(spilling)


@pytest.fixture
def image_of():
    """Image behind a numba kernel with one signature."""
    def image(kernel) -> Image:
        overload = next(iter(kernel.overloads.values()))
        return read_bytes(overload._codelibrary.get_cubin().code)

    return image


def read_bytes(code: bytes) -> Image:
    buffer = ctypes.create_string_buffer(code)
    return read(ctypes.addressof(buffer))


def test_resources_are_those_of_the_real_cubin(spilling, image_of):
    image = image_of(spilling)
    name = next(iter(spilling.overloads.values())).entry_name
    facts = cubin.facts(image.cubin, image.log, simt.device().compute_capability)[name]
    words = image.log[image.log.index(f"Function properties for {name}"):]
    assert f"{facts.local_bytes} bytes stack frame" in words
    assert f"Used {facts.registers} registers" in words
    assert facts.static_shared_bytes == 16 * 4 * 4
    assert facts.const_bytes == 64
    signature, = spilling.nopython_signatures
    assert spilling.get_regs_per_thread(signature) == facts.registers
    assert spilling.get_shared_mem_per_block(signature) == facts.static_shared_bytes
    assert spilling.get_local_mem_per_thread(signature) == facts.local_bytes > 0
    assert spilling.get_const_mem_size(signature) == 64
    assert spilling.get_max_threads_per_block(signature) == 1024


def test_spills_are_read_from_the_linkers_words():
    log = """ptxas info    : Function properties for first
ptxas         .     400 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
    assert cubin.spills(log) == {"first": 32, "second": 0}


def test_spills_of_a_real_kernel_are_known(spilling, image_of):
    image = image_of(spilling)
    for log, known in ((image.log, True), ("", False)):
        facts = cubin.facts(image.cubin, log, simt.device().compute_capability)
        assert (facts[next(iter(spilling.overloads.values())).entry_name].spill_bytes is not None) is known


def test_machine_code_is_shown_with_the_learners_lines(increment, cells):
    increment[1, 64](cells)
    sass = next(iter(increment.inspect_sass().values()))
    assert "STG" in sass and "conftest.py" in sass
    ptx = next(iter(increment.inspect_asm().values()))
    assert ".loc" in ptx and "st.global" in ptx


def test_an_image_survives_packing_and_pickling(spilling, image_of):
    image = image_of(spilling)
    assert image.ptx.lstrip().startswith("//") and ".entry" in image.ptx
    assert read_bytes(pickle.loads(pickle.dumps(pack(image)))) == image


def test_a_cubin_without_ptx_is_refused_with_advice(spilling, image_of):
    bare = bytearray(whole_elf(image_of(spilling).cubin))
    bare[9:16] = bytes(7)
    with pytest.raises(DriverError, match="clear a kernel cache"):
        read_bytes(bytes(bare))


def test_a_fatbin_is_refused():
    with pytest.raises(DriverError, match="fatbin"):
        read_bytes(b"\x50\xed\x55\xba" + bytes(60))


def test_a_module_loaded_as_text_runs_and_has_registers():
    cuda.current_context()
    kernel = ObjectCode.from_ptx(PTX.encode()).get_kernel("store")
    assert kernel.attributes.num_regs > 0
    target = cuda.to_device(np.zeros(1, np.uint32))
    address = target.device_ctypes_pointer.value
    launch(Stream.from_handle(0), LaunchConfig(grid=1, block=1), kernel, address, np.uint32(9))
    assert target.copy_to_host().tolist() == [9]


@pytest.fixture
def library():
    code, handle = cuda_driver.cuLibraryLoadData(PTX.encode() + b"\0", [], [], 0, [], [], 0)
    assert code == 0
    yield handle
    cuda_driver.cuLibraryUnload(handle)


def test_module_variables_are_found_with_their_initial_values(library):
    code, address, size = cuda_driver.cuLibraryGetGlobal(library, b"answer")
    assert (code, size, ctypes.c_uint32.from_address(int(address)).value) == (0, 4, 42)
    assert cuda_driver.cuLibraryGetGlobal(library, b"table")[2] == 24
    assert cuda_driver.cuLibraryGetGlobal(library, b"nothing")[0] == cuda_driver.CUresult.CUDA_ERROR_NOT_FOUND


def test_kernels_of_a_module_are_listed_and_asked_for_by_name(library):
    assert cuda_driver.cuLibraryGetKernelCount(library) == (0, 1)
    _, kernel = cuda_driver.cuLibraryGetKernel(library, b"store")
    assert int(cuda_driver.cuLibraryEnumerateKernels(1, library)[1][0]) == int(kernel)
    assert cuda_driver.cuKernelGetParamInfo(kernel, 1) == (0, 8, 4)
    assert cuda_driver.cuKernelGetParamInfo(kernel, 2)[0] == cuda_driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert cuda_driver.cuLibraryGetKernel(library, b"load")[0] == cuda_driver.CUresult.CUDA_ERROR_NOT_FOUND


def test_an_unloaded_module_is_gone_and_its_memory_with_it():
    used, loaded = current().memory.used_bytes, len(LIBRARIES)
    _, handle = cuda_driver.cuLibraryLoadData(PTX.encode() + b"\0", [], [], 0, [], [], 0)
    assert current().memory.used_bytes > used
    assert cuda_driver.cuLibraryUnload(handle)[0] == 0
    assert (current().memory.used_bytes, len(LIBRARIES)) == (used, loaded)
    assert cuda_driver.cuLibraryUnload(handle)[0] == cuda_driver.CUresult.CUDA_ERROR_INVALID_HANDLE


def test_the_drivers_own_linker_joins_ptx():
    other = PTX.replace("store", "store_too").replace("answer", "other_answer").replace("table", "other_table")
    _, link = cuda_driver.cuLinkCreate(0, [], [])
    for text in (PTX, other):
        kind = cuda_driver.CUjitInputType.CU_JIT_INPUT_PTX
        code, = cuda_driver.cuLinkAddData(link, kind, text.encode(), len(text), b"", 0, [], [])
        assert code == 0
    code, image, size = cuda_driver.cuLinkComplete(link)
    assert code == 0
    _, library = cuda_driver.cuLibraryLoadData(ctypes.string_at(int(image), size), [], [], 0, [], [], 0)
    assert cuda_driver.cuLibraryGetKernelCount(library) == (0, 2)
    cuda_driver.cuLibraryUnload(library)
    assert cuda_driver.cuLinkDestroy(link)[0] == 0


def test_occupancy_follows_registers_shared_memory_and_threads(increment, cells):
    increment[1, 64](cells)
    kernel = next(iter(increment.overloads.values()))._codelibrary.get_cufunc().kernel
    part = simt.device()
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(1024, 0) == part.threads_per_sm // 1024
    half = part.shared_bytes_per_sm // 2 - 2 * part.shared_bytes_reserved
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(32, half - 256) == 2
    room = kernel.occupancy.available_dynamic_shared_memory_per_block(2, 32)
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(32, room) == 2
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(32, room + 1) == 1
    best = kernel.occupancy.max_potential_block_size(0, 0)
    assert (best.max_block_size, best.min_grid_size) == (1024, 2 * part.sm_count)


def test_more_dynamic_shared_memory_can_be_allowed(increment, cells):
    compiled = next(one for types, one in increment.overloads.items() if types[0].layout == "C")
    kernel = compiled._codelibrary.get_cufunc().kernel
    allow = cuda_driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    most = simt.device().shared_bytes_per_block_optin - 256
    assert cuda_driver.cuKernelSetAttribute(allow, most + 1, int(kernel.handle), 0)[0] != 0
    assert cuda_driver.cuKernelSetAttribute(allow, most, int(kernel.handle), 0)[0] == 0
    increment[1, 64, 0, most](cells)
    assert cuda_driver.cuKernelSetAttribute(allow, 0, int(kernel.handle), 0)[0] == 0
    with pytest.raises(CUDAError, match="INVALID_VALUE"):
        increment[1, 64, 0, most](cells)
