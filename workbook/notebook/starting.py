"""The first cell of a notebook: a device, and figures that come with a digest of what they plot."""

from __future__ import annotations

import logging
import warnings

import simt

# Okabe and Ito's palette, which colour-blind readers tell apart
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
SMALL = 9
STYLE = {"font.size": SMALL, "axes.titlesize": SMALL + 1, "axes.titlelocation": "left",
         "axes.spines.top": False, "axes.spines.right": False}


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
    """Within IPython, figures have one style, and their PNGs carry workbook.notebook.plotted.digest; elsewhere nothing."""
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    import matplotlib
    from matplotlib.figure import Figure

    from workbook.notebook.plotted import png

    matplotlib.rcParams.update(STYLE | {"axes.prop_cycle": matplotlib.cycler(color=COLOURS)})
    shell.display_formatter.formatters["image/png"].for_type(Figure, png)
