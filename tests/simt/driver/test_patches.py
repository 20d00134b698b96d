"""The changes to numba: what they add, and that they add nothing else."""
from __future__ import annotations

import ctypes
import sys
import types
import warnings

import numpy as np
import pytest
from numba import cuda
from numba.cuda.core import errors
from numba.cuda.cudadrv.driver import LinkerError

from simt.driver import image, imports, patches


def test_debug_kernels_keep_their_own_line_information(cells):
    @cuda.jit(debug=True, opt=False)
    def increment(target):
        target[cuda.grid(1)] += 1

    increment.compile("void(float32[::1])")
    ptx = next(iter(increment.inspect_asm().values()))
    assert ".loc" in ptx and ", debug" in ptx, "full debug information, not only lines"


def test_kernels_for_link_time_optimisation_link_with_what_nvrtc_compiles():
    @cuda.jit("void(float16[::1], float16)", lto=True)
    def scale(target, factor):
        target[0] = target[0] * factor

    assert "mul.f16" in scale.inspect_lto_ptx(scale.signatures[0])


def test_asking_for_ptx_by_hand_gives_what_numba_gives():
    def increment(target):
        target[cuda.grid(1)] += 1

    ptx, _ = cuda.compile_ptx(increment, "void(float32[::1])")
    assert ".loc" not in ptx


def test_what_numba_cannot_describe_to_a_debugger_runs_without_lines():
    @cuda.jit
    def lengths(target, nested):
        target[0] = len(nested)
        target[1] = len(nested[0])

    target = np.ones(2, np.int64)
    lengths[1, 1](target, ((), (), ()))
    assert target.tolist() == [3, 0]
    assert ".loc" not in next(iter(lengths.inspect_asm().values()))


@pytest.mark.parametrize(("asked", "told"), [(False, []), (True, [errors.NumbaDebugInfoWarning])])
def test_only_who_asks_for_lines_is_told_of_a_function_without_source(asked, told):
    made = {}
    exec("def fill(target):\n    target[0] = 1", made)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cuda.jit("void(float32[::1])", lineinfo=asked)(made["fill"])
    assert [warning.category for warning in caught] == told


def test_an_error_that_numba_finds_in_a_kernel_is_not_looked_for_twice():
    compilations = []

    def compile_cuda(**options):
        compilations.append(options)
        raise errors.TypingError("no such function")

    dispatcher = types.SimpleNamespace(compile_cuda=compile_cuda, errors=errors)
    patches._patch_lines(dispatcher)
    with pytest.raises(errors.TypingError):
        dispatcher.compile_cuda(debug=False)
    assert compilations == [{"debug": False, "lineinfo": True}]


def test_device_functions_have_lines_too():
    @cuda.jit(device=True, inline="never")
    def double(value):
        return value + value

    @cuda.jit("void(float32[::1])")
    def kernel(target):
        target[0] = double(target[0])

    ptx = next(iter(kernel.inspect_asm().values()))
    first_line = double.py_func.__code__.co_firstlineno
    assert f"\t.loc\t1 {first_line + 2} " in ptx or f" {first_line + 2} " in ptx[ptx.index(".loc"):]


def test_cached_kernels_of_the_emulated_device_stay_apart():
    from numba.cuda.codegen import JITCUDACodegen

    assert JITCUDACodegen.magic_tuple.__wrapped__(None) + ("simt",) == JITCUDACodegen.magic_tuple(None)


def test_cuda_source_that_is_linked_is_carried_as_ptx_beside_the_kernels(tmp_path):
    source = tmp_path / "triple.cu"
    source.write_text('extern "C" __device__ int triple(float *out, float x) { *out = 3 * x; return 0; }\n')
    triple = cuda.declare_device("triple", "float32(float32)", link=str(source))

    @cuda.jit("void(float32[::1])")
    def kernel(target):
        target[cuda.grid(1)] = triple(target[cuda.grid(1)])

    code = ctypes.create_string_buffer(next(iter(kernel.overloads.values()))._codelibrary.get_cubin().code)
    ptx = image.read(ctypes.addressof(code)).ptx
    assert ptx.count(".version") == 2
    assert ".visible .entry" in ptx and ".visible .func" in ptx


def test_prebuilt_machine_code_is_refused_in_words():
    driver = cuda.cudadrv.driver
    linker = driver._Linker(cc=(9, 0))
    linker._object_codes.append(driver.ObjectCode.from_fatbin(b"\0", name="x"))
    with pytest.raises(LinkerError, match="cannot link fatbin"):
        patches._linked_ptx(driver, linker)


def test_both_packages_are_changed_in_the_same_places():
    changed = patches.by_module()
    assert changed["numba.cuda.cudadrv.driver"] == changed["numba_cuda_mlir.numba_cuda.cudadrv.driver"]
    assert changed["numba.cuda.codegen"] == changed["numba_cuda_mlir.numba_cuda.codegen"]


@pytest.fixture
def module_file(tmp_path, monkeypatch):
    (tmp_path / "simt_test_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield "simt_test_later"
    sys.modules.pop("simt_test_later", None)


def test_a_module_is_changed_right_after_its_import_and_looks_untouched(module_file):
    imports.after_import({module_file: [lambda module: setattr(module, "value", module.value + 1)]})
    import simt_test_later

    assert simt_test_later.value == 2
    assert type(simt_test_later.__loader__).__name__ == "SourceFileLoader"
    assert simt_test_later.__spec__.loader is simt_test_later.__loader__


def test_a_module_imported_before_is_changed_at_once(monkeypatch):
    module = types.ModuleType("simt_test_now")
    monkeypatch.setitem(sys.modules, "simt_test_now", module)
    imports.after_import({"simt_test_now": [lambda found: setattr(found, "seen", True)]})
    assert module.seen


def test_numba_is_changed_once_although_it_has_a_finder_of_its_own():
    driver = cuda.cudadrv.driver
    assert driver._Linker.complete.__wrapped__.__qualname__ == "_Linker.complete"
    assert not hasattr(driver._Linker.complete.__wrapped__, "__wrapped__")
    assert type(driver.__loader__).__name__ == "SourceFileLoader"
