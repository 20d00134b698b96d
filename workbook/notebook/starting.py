"""The first cell of a notebook: a device, and figures that come with a digest of what they plot."""

from __future__ import annotations

import logging
import warnings

import simt


def start(device: str | None = None) -> None:
    """Use a GPU if there is one, else the emulated device, and say which. `device`: emulate this one, as "a100".

    Raises ValueError for a device without facts on file, RuntimeError when another one is in use already.
    """
    if device is not None:
        simt.set_device(device)
    backend = simt.enable("auto" if device is None else "force", quiet=True)
    warnings.filterwarnings("ignore", message="Grid size .* under-utilization")  # small grids are the lesson
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    _figures_with_digests()
    if backend == "emulated":
        print(f"emulated {simt.device().title}: counters are exact, times are modelled")
    elif backend == "gpu":
        from numba import cuda

        name = cuda.get_current_device().name
        print(f"{name.decode() if isinstance(name, bytes) else name}: times are measured, counters need the emulated device")
    else:
        print("no device: SIMT=off switches the emulated one off; unset it and restart the kernel")


def _figures_with_digests() -> None:
    """Within IPython, PNGs of figures carry workbook.notebook.plotted.digest; elsewhere nothing."""
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    from matplotlib.figure import Figure

    from workbook.notebook.plotted import png

    shell.display_formatter.formatters["image/png"].for_type(Figure, png)
