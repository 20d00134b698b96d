"""The library made in memory: it loads, it is found by its SONAME, and its symbols are the addresses given."""
from __future__ import annotations

import ctypes
import io

import pytest
from elftools.elf.elffile import ELFFile

from simt.driver import elf


@pytest.fixture(scope="module")
def callbacks():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    return {"add_one": prototype(lambda number: number + 1), "negate": prototype(lambda number: -number)}


@pytest.fixture(scope="module")
def library(callbacks):
    return elf.load(
        "libsimt-test.so.7",
        {name: ctypes.cast(callback, ctypes.c_void_p).value for name, callback in callbacks.items()},
    )


def test_exported_symbols_are_the_functions_given(library):
    assert (library.add_one(41), library.negate(3)) == (42, -3)


def test_opening_the_soname_finds_the_library_without_a_file(library):
    again = ctypes.CDLL("libsimt-test.so.7")
    assert again._handle == library._handle
    assert again.add_one(1) == 2


def test_a_symbol_that_was_not_given_is_not_found(library):
    with pytest.raises(AttributeError):
        library.cuInit  # noqa: B018  the look-up does the work


def test_a_library_without_symbols_loads():
    elf.load("libsimt-empty.so", {})


@pytest.mark.parametrize("machine, number", [("x86_64", 62), ("aarch64", 183)])
def test_the_header_names_the_machine(machine, number):
    image = elf.build("libcuda.so.1", {"a": 1}, machine)
    assert int.from_bytes(image[18:20], "little") == number


def test_another_reader_sees_the_soname_and_the_symbols():
    read = ELFFile(io.BytesIO(elf.build("libcuda.so.1", {"one": 0x1234, "two": 0x5678})))
    dynamic = next(segment for segment in read.iter_segments() if segment["p_type"] == "PT_DYNAMIC")
    assert [tag.soname for tag in dynamic.iter_tags("DT_SONAME")] == ["libcuda.so.1"]
    assert {symbol.name: symbol["st_value"] for symbol in dynamic.iter_symbols() if symbol.name} == {
        "one": 0x1234, "two": 0x5678,
    }
