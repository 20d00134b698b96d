"""Array arguments read back from parameter blocks, and Python names from mangled ones."""
from __future__ import annotations

import linecache

import numpy as np
import pytest
from numba import cuda, float32

from simt.ptx import parse
from simt.runtime.arguments import argument_name, argument_names, arrays, source_line
from simt.runtime.names import kernel_name


def described(array: np.ndarray) -> list[int]:
    """The parameters that Numba makes of an array."""
    return [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]


CUBE = np.zeros((4, 5, 6), np.float32)
ARRAYS = {
    "one axis": np.zeros(10, np.float32), "one item": np.zeros(1, np.int8), "doubles": np.zeros(7), "three axes": CUBE,
    "two axes": CUBE[0], "Fortran order": np.asfortranarray(CUBE), "every other item": np.zeros(20, np.int16)[::2],
    "a column": CUBE[0][:, 2], "a plane across": CUBE[:, 1, :], "a window": CUBE[1:3, 2:4, 1:5], "transposed": CUBE[0].T,
    "one wide axis": np.zeros((1, 9), np.float32), "one tall axis": np.zeros((9, 1), np.float32),
    "records": np.zeros(3, [("a", "f4"), ("b", "i8")]), "complex": np.zeros((2, 3), np.complex64),
    "empty": np.zeros(0, np.float32), "no rows": np.zeros((0, 4), np.float32), "no columns": np.zeros((4, 0), np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_found_between_numbers_with_shape_strides_and_name(name):
    array = ARRAYS[name]
    values = [7, *described(array), 3, 0, 0, *described(CUBE[0]), 0, 1 << 40]
    found = arrays(values, ("n", "x", "k", "zero", "nought", "plane", "z", "big"))
    assert [(a.name, a.position) for a in found] == [("x", 1), ("plane", 5)]
    assert (found[0].address, found[0].item_bytes) == (array.ctypes.data, array.itemsize)
    assert (found[0].shape, found[0].strides) == (array.shape, array.strides)
    assert (found[1].shape, found[1].strides) == ((5, 6), (24, 4))


def test_arrays_side_by_side_and_without_names_are_numbered():
    found = arrays([*described(ARRAYS["doubles"]), *described(CUBE), *described(ARRAYS["empty"])], ("x",))
    assert [a.name for a in found] == ["x", "argument 1", "argument 2"]


def test_a_parameter_is_told_as_the_argument_that_it_is_a_part_of():
    values, names = [7, *described(CUBE), 3, *described(ARRAYS["doubles"])], ("n", "x", "k", "y")
    told = [argument_name(values, names, parameter) for parameter in range(len(values))]
    assert told == ["n"] + ["x"] * 11 + ["k"] + ["y"] * 7
    assert argument_name([5, 6], (), 1) == "argument 1"


def test_numbers_alone_are_no_arrays():
    assert arrays([0, 0, 5, 4, 1 << 45], ()) == []
    assert arrays([0] * 12, ()) == []
    assert arrays([1, 2, 3], ()) == []


@pytest.mark.parametrize("name", [name for name, array in ARRAYS.items() if array.size])
def test_the_address_of_an_element_gives_its_index_back(name):
    array = ARRAYS[name]
    found, = arrays(described(array), ("x",))
    for index in np.ndindex(array.shape):
        address = array.ctypes.data + sum(i * s for i, s in zip(index, array.strides, strict=True))
        assert found.index(address) == index
        assert found.distance(address) == 0
    assert found.extent_bytes == address + array.itemsize - array.ctypes.data
    assert (found.distance(found.address - 1), found.distance(found.address + found.extent_bytes)) == (1, 1)


def test_addresses_outside_give_an_index_outside_on_the_slowest_axis():
    rows, = arrays(described(CUBE[0]), ("x",))
    columns, = arrays(described(np.asfortranarray(CUBE[0])), ("x",))
    assert rows.index(rows.address + 4 * (5 * 6 + 1)) == (5, 1)
    assert rows.index(rows.address - 4) == (-1, 5)
    assert columns.index(columns.address + 4 * (5 * 6 + 1)) == (1, 6)


@pytest.mark.parametrize(("mangled", "name"), [
    ("_ZN8__main__5plainB2v1B92cw51cXTLSUwv1sDUaKthoaNgo", "plain"),
    ("_ZN8__main__5outer12_3clocals_3e12inner_kernelB2v2B92cw51cXTL", "inner_kernel"),
    ("_ZN6my_pkg3sub1K6methodB2v3B92cw51", "method"), ("_ZN8__main__12_under_scoreB2v5", "_under_score"),
    ("_ZN8__main__12_3clambda_3eB2v7B92cw51", "<lambda>"), ("_ZN8__main__9bench_2e6B2v1", "bench_2e6"),
    ("copy_kernel", "copy_kernel"), ("_Z6kernelPf", "_Z6kernelPf"), ("_ZN", "_ZN")])
def test_the_python_name_is_found_in_a_mangled_one(mangled, name):
    assert kernel_name(mangled) == name


def test_the_name_of_a_closure_that_numba_mangles_today_is_found():
    def make():
        def scaled_by_2e(x):
            x[0] = 1
        return scaled_by_2e

    ptx, _ = cuda.compile_ptx(make(), (float32[::1],), cc=(8, 0))
    assert [kernel_name(f.name) for f in parse(ptx).functions.values() if f.is_entry] == ["scaled_by_2e"]


def test_argument_names_and_text_come_from_the_innermost_function_around_a_line(tmp_path):
    path = tmp_path / "code.py"
    path.write_text("def outer(a, b):\n    def inner(x, y):\n        return x[0]   \n    return inner\n\nz = 3\n")
    assert [argument_names(str(path), line) for line in (1, 3, 4, 6)] == [("a", "b"), ("x", "y"), ("a", "b"), ()]
    assert [source_line(str(path), line) for line in (3, 6, 7)] == ["return x[0]", "z = 3", ""]
    assert (argument_names(str(tmp_path / "none.py"), 1), source_line(str(tmp_path / "none.py"), 1)) == ((), "")


def test_the_text_of_a_notebooks_cell_comes_from_linecache():
    name = "/tmp/ipykernel_7/1234.py"
    lines = ["def f(x, out):\n", "    out[0] = x[0]\n"]
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)  # as IPython enters a cell
    try:
        assert (argument_names(name, 2), source_line(name, 2)) == (("x", "out"), "out[0] = x[0]")
    finally:
        del linecache.cache[name]
