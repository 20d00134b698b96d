"""Reading what Nsight Compute measured. The files here are written by hand after the documented format; none was measured."""
from __future__ import annotations

import numpy as np
import pytest

from simt.observe import names
from simt.report import ncu
from simt.report.ncu import NcuError

HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
METRICS = (
    '"dram__bytes_read.sum","gpu__time_duration.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","dram__bytes.sum.per_second",'
    '"sm__cycles_elapsed.avg.per_second","launch__registers_per_thread","device__attribute_display_name"'
)
UNITS = '"","","","","","","","","","","","Mbyte","us","sector","Gbyte/s","cycle/nsecond","register/thread",""'
ROW = ('"0","42","python","host","__main__::column[abi:v1](Array<float, 2>, Array<float, 1>)","1","7","(64, 1, 1)","(2, 1, 1)",'
       '"0","9.0","1.5","12.5","1,234","2.5","1.7","16","NVIDIA H200"')
FILE = f"""the program's own output, with a "quote
==PROF== Connected to process 42 (python3.11)
==PROF== Profiling "column" - 0: 0%....50%....100% - 2 passes
{HEAD},{METRICS}
{UNITS}
{ROW}
==PROF== Disconnected from process 42
"""


def test_values_come_in_base_units():
    launch, = ncu.parse(FILE)
    assert launch.metrics == {
        "dram__bytes_read.sum": 1_500_000, "gpu__time_duration.sum": 12_500,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1234, "dram__bytes.sum.per_second": 2.5e9,
        "sm__cycles_elapsed.avg.per_second": pytest.approx(1.7e9), "launch__registers_per_thread": 16,
    }
    assert launch.units["gpu__time_duration.sum"] == "ns"
    assert launch.units["dram__bytes.sum.per_second"] == "byte/s"
    assert launch.texts == {"device__attribute_display_name": "NVIDIA H200"}


def test_a_launch_has_its_shape_and_the_name_that_the_learner_wrote():
    launch, = ncu.parse(FILE)
    assert (launch.grid, launch.block) == ((2, 1, 1), (64, 1, 1))
    assert launch.short_name == "column"


@pytest.mark.parametrize(("name", "short"), [
    ("_ZN8__main__4tileB2v1B3cw5E", "tile"), ("void tile<4>(float *)", "tile"), ("tile", "tile"),
    ("tile(float *, int)", "tile"), ("kernels::matmul::s30_tiled::kernel[abi:v3](Array<float>)", "kernel"),
])
def test_names_are_read_mangled_and_demangled(name, short):
    assert ncu.Measured(name, None, None, {}, {}, {}).short_name == short


@pytest.mark.parametrize(("unit", "factor", "base"), [
    ("", 1, ""), ("%", 1, "%"), ("byte", 1, "byte"), ("Kbyte", 1e3, "byte"), ("Kbyte/block", 1e3, "byte/block"),
    ("second", 1e9, "ns"), ("msecond", 1e6, "ns"), ("ms", 1e6, "ns"), ("nsecond", 1, "ns"),
    ("Tbyte/second", 1e12, "byte/s"), ("byte/ns", 1e9, "byte/s"), ("Ghz", 1e9, "hz"), ("cycle/nsecond", 1e9, "cycle/s"),
    ("inst/cycle", 1, "inst/cycle"), ("Kinst", 1e3, "inst"), ("register/thread", 1, "register/thread"),
])
def test_units_are_scaled_by_powers_of_1000(unit, factor, base):
    found, name = ncu.scale(unit)
    assert (found, name) == (pytest.approx(factor), base)


@pytest.mark.parametrize(("cell", "value"), [
    ("1,234.5", 1234.5), ("1234", 1234), ("0", 0), ("-3.5", -3.5), ("1.2e+06", 1.2e6), ("10 (4; 6)", 10), ("inf", float("inf")),
    ("1,23", None), ("1.234,5", None), ("yes", None),
])
def test_numbers_have_thousands_separated_by_commas(cell, value):
    assert ncu.number(cell) == value


@pytest.mark.parametrize("cell", ["", "n/a", "nan"])
def test_a_cell_without_a_value_is_left_out(cell):
    launch, = ncu.parse(FILE.replace('"12.5"', f'"{cell}"'))
    assert "gpu__time_duration.sum" not in launch.metrics


def test_a_file_of_windows_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(FILE.replace("\n", "\r\n").encode("utf-16"))
    assert ncu.read(tmp_path / "a.csv") == ncu.parse(FILE)


@pytest.mark.parametrize(("old", "new", "message"), [
    (HEAD, "nothing", r'ncu\.csv:7: no row of column names that begins with "ID": write the file with ncu --csv --page raw'),
    ('"Kernel Name",', '"Kernel",', r'ncu\.csv:4: no column "Kernel Name"'),
    ('"CC"', '"CC","Metric Name"', r'ncu\.csv:4: column "Metric Name": this is a page with a row for each metric'),
    ('"gpu__time_duration.sum"', '"dram__bytes_read.sum"', r'ncu\.csv:4: column "dram__bytes_read\.sum": .* 2 times'),
    (UNITS + "\n", "", r'ncu\.csv:5: column "ID": the row of units is missing'),
    ('"NVIDIA H200"', '"NVIDIA H2', r"ncu\.csv:7: this row is damaged"),
    (',"16","NVIDIA H200"', "", r'ncu\.csv:6: column "launch__registers_per_thread": the row ends after 16 of 18 columns'),
    ('"NVIDIA H200"', '"NVIDIA H200","1"', r"ncu\.csv:6: .*the row has 19 columns, and the names are 18"),
    ('"1,234"', '"1.234,5"', r'ncu\.csv:6: column "l1tex__t_sectors_pipe_lsu_mem_global_op_ld\.sum": .*is no number of sector'),
    ('"(2, 1, 1)"', '"2"', r'ncu\.csv:6: column "Grid Size": \'2\' is no shape'),
])
def test_a_damaged_file_names_line_and_column(old, new, message):
    assert FILE.count(old) == 1
    with pytest.raises(NcuError, match=message):
        ncu.parse(FILE.replace(old, new))


def test_a_file_that_ends_after_the_names_says_so():
    with pytest.raises(NcuError, match=r"ncu\.csv:4: the row of units is missing: the file ends"):
        ncu.parse(FILE[: FILE.index(UNITS)])


def test_a_report_that_was_not_exported_says_how(tmp_path):
    (tmp_path / "a.ncu-rep").write_bytes(b"NVR\0\xff\xfe\x80")
    with pytest.raises(NcuError, match=r"a\.ncu-rep:1: .*ncu --import"):
        ncu.read(tmp_path / "a.ncu-rep")


@pytest.fixture
def columns(launched):
    """Four warps that each read a column: 32 sectors a request."""
    return launched("column", 2, 64, np.ones((128, 32), np.float32), np.zeros(128, np.float32)).profile


def test_measured_stands_beside_emulated_with_its_tag(columns):
    profile = columns
    file = FILE.replace('"1,234"', '"80"').replace('"16"', f'"{profile.registers}"')
    rows = {row.metric: row for row in ncu.compare(profile, ncu.parse(file)[0])}
    sectors = rows[names.GLOBAL_SECTORS_LD]
    assert (sectors.measured, sectors.emulated, sectors.tag, sectors.difference_percent) == (80, 128, "exact", 60.0)
    assert rows["launch__registers_per_thread"].difference_percent == 0
    assert rows["gpu__time_duration.sum"].tag == "modelled"
    assert rows["gpu__time_duration.sum"].emulated == profile.time_ns
    assert "device__attribute_display_name" not in rows
    table = ncu.text(list(rows.values()))
    assert "+60.0 % exact" in table and max(map(len, table.splitlines())) <= 100


def test_what_was_measured_as_zero_has_no_difference_in_percent():
    assert ncu.Compared("a__b", "", 0, 3, "exact").difference_percent is None
    assert ncu.Compared("a__b", "", 0, 0, "exact").difference_percent == 0


def test_launches_pair_by_name_shape_and_order(columns):
    second = ROW.replace('"0","42"', '"1","42"').replace('"12.5"', '"99"')
    other = ROW.replace("column", "copy")
    measured = ncu.parse(FILE.replace(ROW, f"{other}\n{ROW}\n{second}"))
    pairs = ncu.pair([columns, columns, columns], measured)
    assert [found.metrics["gpu__time_duration.sum"] for _, found in pairs] == [12_500, 99_000]
