"""What the notebooks import: start a device, run and show steps, compare a prediction with a count, draw.

    from workbook import notebook
    notebook.start()                                  # a usable GPU, else the emulated device
    naive = notebook.run("matmul/naive", m=64, n=64, k=64)
    naive.correct, naive.sectors_per_request          # and .counters, .lines, .time_ns, .report
    notebook.show("matmul/naive")                     # its source
    notebook.compare("sectors per request", 4, naive.sectors_per_request)

Pictures come from simt.report.pictures; whatever has a number says whether it was counted, modelled or measured.
"""

from workbook.notebook.pictures import access_map, bank_grid, instruction_mix, line_of, roofline, speedup_bars
from workbook.notebook.running import Ran, count, run
from workbook.notebook.showing import changes, compare, failing, machine_code, published, show, table
from workbook.notebook.starting import start
from workbook.notebook.timings import Timings, recorded, time

__all__ = [
    "Ran",
    "Timings",
    "access_map",
    "bank_grid",
    "changes",
    "compare",
    "count",
    "failing",
    "instruction_mix",
    "line_of",
    "machine_code",
    "published",
    "recorded",
    "roofline",
    "run",
    "show",
    "speedup_bars",
    "start",
    "table",
    "time",
]
