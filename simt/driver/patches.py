"""The changes made to numba and cuda.core while the emulated device is on. Nothing else of them is touched.

``LINKER``   the linked image carries the PTX that it was made from, and the linker says what it spilled
``LINES``    kernels carry line information, so that a fault and a counter can name the learner's line
``CACHE``    cached kernels (cache=True) of the emulated device and of a real GPU stay apart
``ERRORS``   exceptions that stand for a failed driver call tell what the driver could not: see ``explain``

Each works on the modules of numba-cuda (imported as numba.cuda) and of its successor numba-cuda-mlir.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from simt.driver import errors, image

NUMBA_PACKAGES = ("numba.cuda", "numba_cuda_mlir.numba_cuda")


def by_module() -> dict[str, list[Callable[[ModuleType], None]]]:
    """Module name -> what to change in it once it is imported."""
    table: dict[str, list[Callable[[ModuleType], None]]] = {
        "cuda.core._utils.cuda_utils": [_patch_cuda_core_errors],
        "numba.cuda.cudadrv.nvvm": [_patch_lto],
        "numba.cuda.dispatcher": [_patch_lines],
        "numba_cuda_mlir.descriptor": [_patch_mlir_lines],
    }
    for package in NUMBA_PACKAGES:
        table[f"{package}.cudadrv.driver"] = [_patch_linker, _patch_numba_errors]
        table[f"{package}.codegen"] = [_patch_cache]
    return table


def explain(error: BaseException) -> None:
    """Tell what the emulated device knows about the failed driver call that ``error`` stands for.

    Raises the KeyboardInterrupt, or whatever a signal handler raised, that ended the call instead.
    """
    note = errors.take_note()
    if interrupt := errors.take_interrupt():
        raise interrupt
    if note:
        error.add_note(note)


def wake(module: ModuleType) -> None:
    """Undo numba's verdict that there is no driver, reached before the emulated device was enabled."""
    driver = module.driver
    driver.is_initialized, driver.initialization_error = False, None
    driver.lib = module.find_driver()


def _patch_linker(module: ModuleType) -> None:
    linker = module._Linker

    @_around(linker, "__init__")
    def init(original: Callable, self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        if self.lto and "-ptx" not in (self.additional_flags or ()):
            self.lto = False  # LTO skips PTX, which is what runs here; an explicit request for LTO's PTX stays

    @_around(linker, "_get_linker_options")
    def get_linker_options(original: Callable, self: Any, ptx: bool) -> Any:
        options = original(self, ptx)
        options.verbose = True
        return options

    @_around(linker, "get_linked_ptx")
    def get_linked_ptx(original: Callable, self: Any) -> bytes:
        if self._has_ltoir:
            return original(self)
        return _linked_ptx(module, self).encode()  # without LTO inputs there is nothing left to link

    @_around(linker, "complete")
    def complete(original: Callable, self: Any) -> Any:
        linked = original(self)
        carried = image.Image(_linked_ptx(module, self), image.whole_elf(linked.code), self.info_log.rstrip("\0"))
        return module.ObjectCode.from_cubin(image.pack(carried), name=linked.name)


def _linked_ptx(module: ModuleType, linker: Any) -> str:
    """The PTX behind a completed link: the PTX inputs as they are, LTO inputs linked to PTX; libraries add none."""
    inputs = linker._object_codes
    texts = [_text(code.code) for code in inputs if code.code_type == "ptx"]
    intermediate = [code for code in inputs if code.code_type == "ltoir"]
    if foreign := {code.code_type for code in inputs} - {"ptx", "ltoir", "library"}:
        raise module.LinkerError(
            f"the emulated device runs PTX and cannot link {', '.join(sorted(foreign))}: link the source (.cu) or PTX"
        )
    if intermediate:
        ptx_linker = module.Linker(*intermediate, options=linker._get_linker_options(ptx=True))
        texts.insert(0, _text(ptx_linker.link("ptx").code))
        ptx_linker.close()
    return "\n".join(texts)


def _text(code: bytes | str) -> str:
    return (code if isinstance(code, str) else code.decode()).rstrip("\0")


def _patch_lines(module: ModuleType) -> None:
    @_around(module, "compile_cuda")
    def compile_cuda(original: Callable, *arguments: Any, **options: Any) -> Any:
        if not options.get("debug"):
            options["lineinfo"] = True
        return original(*arguments, **options)


def _patch_lto(module: ModuleType) -> None:
    """NVVM links no modules whose flags differ in behaviour, and NVRTC's say 1 where numba's say 2: a kernel with line
    information would not link with what NVRTC compiles."""

    @_around(module, "compile_ir")
    def compile_ir(original: Callable, text: str | list[str], **options: Any) -> bytes:
        if "gen-lto" in options:
            texts = [text] if isinstance(text, str) else text
            text = [one.replace('i32 2, !"Debug Info Version"', 'i32 1, !"Debug Info Version"') for one in texts]
        return original(text, **options)


def _patch_mlir_lines(module: ModuleType) -> None:
    @_around(module.MLIRDispatcher, "__init__")
    def init(original: Callable, self: Any, py_func: Callable, targetoptions: dict | None = None) -> None:
        options = dict(targetoptions or {})
        if not options.get("debug"):
            options["lineinfo"] = True
        original(self, py_func, options)


def _patch_cache(module: ModuleType) -> None:
    @_around(module.JITCUDACodegen, "magic_tuple")
    def magic_tuple(original: Callable, self: Any) -> tuple:
        return *original(self), "simt"


def _patch_numba_errors(module: ModuleType) -> None:
    _explain_new(module.CudaAPIError)


def _patch_cuda_core_errors(module: ModuleType) -> None:
    _explain_new(module.CUDAError)


def _explain_new(exception: type[BaseException]) -> None:
    @_around(exception, "__init__")
    def init(original: Callable, self: BaseException, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        explain(self)


def _around(owner: Any, name: str) -> Callable[[Callable], Callable]:
    """Replace ``owner.name`` by a function that gets the original as its first argument."""
    original = getattr(owner, name)

    def replace(function: Callable) -> Callable:
        @functools.wraps(original)
        def around(*arguments: Any, **options: Any) -> Any:
            return function(original, *arguments, **options)

        setattr(owner, name, around)
        return around

    return replace
