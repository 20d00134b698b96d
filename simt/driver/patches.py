"""The changes made to numba and cuda.core while the emulated device is on. Nothing else of them is touched.

``LINKER``   the linked image carries the PTX that it was made from, and the linker says what it spilled
``LINES``    kernels carry line information, so that a fault and a counter can name the learner's line
``CACHE``    cached kernels (cache=True) of the emulated device and of a real GPU stay apart
``ERRORS``   exceptions that stand for a failed driver call tell what the driver could not: see ``explain``
``GUARDS``   explicit signatures are checked, errors under debug=True name line, block and thread (simt/driver/guards.py)
``HINTS``    errors of the compiler say in one sentence what they mean (simt/driver/hints.py)
``REDUCE``   cuda.reduce refuses a function that is not associative (simt/driver/associative.py)

Each works on the modules of numba-cuda (imported as numba.cuda) and of its successor numba-cuda-mlir.
"""
from __future__ import annotations

import contextvars
import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from simt.driver import associative, errors, guards, hints, image

NUMBA_PACKAGES = ("numba.cuda", "numba_cuda_mlir.numba_cuda")

_lines_unasked = contextvars.ContextVar("lines that this device adds to a compilation of numba's", default=False)


def by_module() -> dict[str, list[Callable[[ModuleType], None]]]:
    """Module name -> what to change in it once it is imported."""
    table: dict[str, list[Callable[[ModuleType], None]]] = {
        "cuda.core._utils.cuda_utils": [_patch_cuda_core_errors],
        "numba.cuda.cudadrv.nvvm": [_patch_lto],
        "numba.cuda.core.callconv": [_patch_zero_division],
        "numba.cuda.lowering": [_patch_missing_source],
        "numba.cuda.dispatcher": [_patch_lines, _patch_dispatcher],
        "numba.cuda.kernels.reduction": [_patch_reduce],
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
    """What numba cannot describe to a debugger, such as a tuple of empty tuples, compiles without lines."""

    @_around(module, "compile_cuda")
    def compile_cuda(original: Callable, *arguments: Any, **options: Any) -> Any:
        unasked = not (options.get("debug") or options.get("lineinfo"))
        outer = _lines_unasked.set(unasked)
        try:
            return original(*arguments, **options | {"lineinfo": True} if unasked else options)
        except Exception as error:
            if not unasked or hints.is_about_the_kernel(error):
                raise                   # with or without lines
        finally:
            _lines_unasked.reset(outer)
        return original(*arguments, **options)


def _patch_missing_source(module: ModuleType) -> None:
    """Of a function without a source file, such as one made by ``exec``, numba says that lines may be wrong: only to those who
    asked for lines."""
    module.get_func_def_lineno = functools.lru_cache(maxsize=1)(module.get_func_def_lineno)     # parses source; called twice

    @_around(module.BaseLower, "_compute_def_location")
    def compute_def_location(original: Callable, self: Any) -> Any:
        if not _lines_unasked.get() or module.get_func_def_lineno(self.func_ir.func_id.func) is not None:
            return original(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", module.NumbaDebugInfoWarning)
            return original(self)


def _patch_dispatcher(module: ModuleType) -> None:
    @_around(module.CUDADispatcher, "compile")
    def compile(original: Callable, self: Any, signature: Any) -> Any:
        try:
            return original(self, signature)
        except Exception as error:
            hints.add_hint(error, self.py_func)
            if hints.is_about_the_kernel(error) and not module.config.FULL_TRACEBACKS:
                raise error.with_traceback(None) from None      # numba for the CPU hides its own frames, too
            raise

    @_around(module.CUDADispatcher, "add_overload")
    def add_overload(original: Callable, self: Any, kernel: Any, argument_types: tuple) -> None:
        guards.guard_debugged(module, kernel, self.py_func.__name__)
        original(self, kernel, argument_types)

    @_around(module.CUDADispatcher, "disable_compile")
    def disable_compile(original: Callable, self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        if len(self.overloads) == 1:
            guards.guard_declared(module, next(iter(self.overloads.values())), self.py_func.__name__)


def _patch_reduce(module: ModuleType) -> None:
    @_around(module.Reduce, "_compile")
    def compile(original: Callable, self: Any, dtype: Any) -> Any:
        associative.check(self._functor, dtype)
        return original(self, dtype)


def _patch_zero_division(module: ModuleType) -> None:
    @_around(module.ErrorModel, "fp_zero_division")
    def fp_zero_division(original: Callable, self: Any, builder: Any, exc_args: tuple | None = None, loc: Any = None) -> bool:
        return original(self, builder, exc_args, loc or guards.place_of(builder))


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
