"""--case takes the ladder's axes in order, and says so when it cannot."""

from __future__ import annotations

import pytest

from kernels.case import Case
from workbook import cases

LIKE = Case(m=4096, n=4096, k=4096)


def test_sizes_are_read_in_the_order_of_the_axes():
    assert cases.parse("64, 32,16", LIKE) == Case(m=64, n=32, k=16)


@pytest.mark.parametrize(
    "text", ["", "64", "64,32", "64,32,16,8", "64,32,0", "64,-32,16", "a,b,c", "1e3,2,3", "64,,16", "²,3,4"]
)
def test_anything_else_names_the_format_and_an_example(text):
    with pytest.raises(cases.BadCase, match=r"is not m,n,k: 3 whole numbers >= 1, such as 4096,4096,4096"):
        cases.parse(text, LIKE)
