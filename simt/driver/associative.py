"""Whether a function may be given to cuda.reduce, which groups its arguments as the launch has it."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

TRIPLES = ((1, 2, 3), (3, 1, 2), (2, 5, 1))
CLOSE = 1e-6  # of floats: sums and products of small whole numbers are exact, a logarithm of a sum is not


def check(function: Callable, dtype: np.dtype) -> None:
    """Raise ValueError where f(f(a, b), c) is not f(a, f(b, c)) for small whole numbers.

    A function that plain Python cannot call, and numbers that are no plain numbers, are taken on trust.
    """
    if np.dtype(dtype).kind not in "iuf":
        return
    number = float if np.dtype(dtype).kind == "f" else int
    for triple in TRIPLES:
        a, b, c = map(number, triple)
        try:
            left, right = function(function(a, b), c), function(a, function(b, c))
            same = math.isclose(left, right, rel_tol=CLOSE) or not (math.isfinite(left) and math.isfinite(right))
        except Exception:
            return
        if not same:
            raise ValueError(_message(function, (a, b, c), left, right))


def _message(function: Callable, triple: tuple, left: Any, right: Any) -> str:
    a, b, c = triple
    code = getattr(function, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return (
        f"cuda.reduce: this function{where} is not associative: f(f({a}, {b}), {c}) is {left}, but f({a}, f({b}, {c})) is "
        f"{right}. Threads group the values as they come, so the result would depend on the launch: change the values in a "
        "kernel first, and reduce them with +, *, min or max"
    )
