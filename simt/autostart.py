"""Enables the emulated device in programs that know nothing of it, when the environment has SIMT=auto or SIMT=force.

A line in a ``.pth`` file of the environment imports this module as the interpreter starts, and only if SIMT is set.
Nothing happens until the program imports something that talks to CUDA.
"""
from __future__ import annotations

import os
import sys

TRIGGERS = frozenset({"numba.cuda", "numba_cuda_mlir", "cuda.bindings", "cuda.core"})


class _FirstUse:
    """Stands first in ``sys.meta_path`` until one of the triggers is imported."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name in TRIGGERS:
            sys.meta_path.remove(self)
            import simt

            simt.enable()


if os.environ.get("SIMT") in ("auto", "force"):
    sys.meta_path.insert(0, _FirstUse())
elif os.environ.get("SIMT") not in (None, "", "off"):
    sys.stderr.write(f"simt: SIMT={os.environ['SIMT']!r} is ignored: it is auto, force or off\n")
