"""How the errors of 8-bit numbers grow through a stack of layers: a measured error budget.

The stack:  layer by layer  h <- h + normalised(h) @ W.T, h (TOKENS, WIDTH); normalised(h) = gain * h / rms(h), and
            the gain is OUTLIER_GAIN in a few columns, as in trained transformers, whose activations have such columns
            (Dettmers et al., LLM.int8(), NeurIPS 2022, section 4). Rows of W differ in size
Reference:  the same in float64
Measured:   products, sums and rounding of the operands run on the device; normalisation and the sum with h, which are
            not in question, run in float64 on the host

Kernels:    a product with float32 or float16 accumulators, of any float32 operands
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import cuda, float32
from numba.cuda.types import float16

from kernels.case import Case, Layout, ceil_div
from kernels.quant import fp8
from kernels.quant.formats import dequantise_reference
from kernels.quant.quantise import LADDER, per_group, per_tensor

TOKENS, WIDTH, LAYERS = 16, 256, 8
OUTLIERS, OUTLIER_GAIN = 3, 30.0  # columns
SIDE = 16  # of a block


@cuda.jit
def product_float32(a, w, c):
    """c[row, col] = sum over i of a[row, i] * w[col, i], in float32."""
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * w[col, i]
        c[row, col] = total


@cuda.jit
def product_float16(a, w, c):
    """The same; each product is rounded to float16, and so is each sum."""
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float16(0)
        for i in range(a.shape[1]):
            total = total + float16(a[row, i] * w[col, i])
        c[row, col] = float32(total)


ACCUMULATORS = {"float32": product_float32, "float16": product_float16}


def product(a: np.ndarray, w: np.ndarray, accumulator: str = "float32") -> np.ndarray:
    """a (m, k) @ w (n, k).T on the device, float32 (m, n); the accumulator is a key of ACCUMULATORS."""
    c = cuda.device_array((len(a), len(w)), np.float32)
    grid = ceil_div(c.shape[1], SIDE), ceil_div(c.shape[0], SIDE)
    ACCUMULATORS[accumulator][grid, (SIDE, SIDE)](cuda.to_device(a), cuda.to_device(w), c)
    return c.copy_to_host()


def exact(x: np.ndarray) -> np.ndarray:
    """x (rows, columns), float32, as it is."""
    return x


def int8_per_tensor(x: np.ndarray) -> np.ndarray:
    """x to int8 with one scale and back, on the device."""
    layout = per_tensor.outputs(_case(x), {}) | per_tensor.scratch(_case(x), {})
    return _there_and_back(x, lambda buffers: per_tensor.run(buffers, 0), layout)


def int8_per_row(x: np.ndarray) -> np.ndarray:
    """x to int8 with a scale per row and back."""
    return _there_and_back(x, lambda buffers: LADDER.step("registers").run(buffers), LADDER.outputs(_case(x), {}))


def int8_per_group(x: np.ndarray, group: int = 32) -> np.ndarray:
    """x to int8 with a scale for each `group` columns and back."""
    run = partial(per_group.run, stream=0, group=group)
    return _there_and_back(x, run, per_group.outputs(_case(x), {}, group), group)


LARGEST_OF = {fp8.E4M3: 448.0, fp8.E5M2: 57344.0}


def fp8_per_row(x: np.ndarray, format: fp8.Format = fp8.E4M3) -> np.ndarray:
    """x to an 8-bit float and back, each row scaled so that its absmax is the format's largest number."""
    absmax = np.abs(x).max(axis=1, keepdims=True)
    scale = np.where(absmax > 0, absmax / np.float32(LARGEST_OF[format]), np.float32(1))
    codes, numbers = cuda.device_array(x.size, np.uint8), cuda.device_array(x.size, np.float32)
    fp8.encode(cuda.to_device((x / scale).ravel()), codes, format, saturating=True)
    fp8.decode(codes, numbers, format)
    return numbers.copy_to_host().reshape(x.shape) * scale


@dataclass(frozen=True)
class Scheme:
    """How the operands of the products are rounded, and what sums are kept in."""

    activations: Callable[[np.ndarray], np.ndarray] = exact
    weights: Callable[[np.ndarray], np.ndarray] = exact
    accumulator: str = "float32"


def both(rounding: Callable[[np.ndarray], np.ndarray], accumulator: str = "float32") -> Scheme:
    """Activations and weights rounded the same way."""
    return Scheme(rounding, rounding, accumulator)


SCHEMES: Mapping[str, Scheme] = {
    "float32": Scheme(),
    "float16 accumulators": Scheme(accumulator="float16"),
    "int8 per tensor": both(int8_per_tensor),
    "int8 per row": both(int8_per_row),
    "int8 per group of 32": both(int8_per_group),
    "int8 per row, weights only": Scheme(weights=int8_per_row),
    "int8 per row, activations only": Scheme(activations=int8_per_row),
    "int8 per row, float16 accumulators": both(int8_per_row, "float16"),
    "e4m3 per row": both(fp8_per_row),
    "e5m2 per row": both(partial(fp8_per_row, format=fp8.E5M2)),
}


@dataclass(frozen=True)
class Stack:
    """weights (LAYERS, WIDTH, WIDTH), gain (WIDTH,), start (TOKENS, WIDTH): all float32."""

    weights: np.ndarray
    gain: np.ndarray
    start: np.ndarray


def make_stack(
    rng: np.random.Generator, layers: int = LAYERS, width: int = WIDTH, outlier_gain: float = OUTLIER_GAIN
) -> Stack:
    """Random layers whose outputs are about as large as their inputs; without outliers for outlier_gain=1."""
    gain = np.ones(width, np.float32)
    gain[rng.choice(width, OUTLIERS, replace=False)] = outlier_gain
    sizes = rng.choice([0.1, 1.0], (layers, width, 1))  # of the rows
    weights = rng.standard_normal((layers, width, width)) * sizes / np.linalg.norm(gain)
    return Stack(weights.astype(np.float32), gain, rng.standard_normal((TOKENS, width), dtype=np.float32))


def errors(stack: Stack, scheme: Scheme) -> np.ndarray:
    """Relative error (layers,) of h after each layer: ||h - reference|| / ||reference||, Frobenius norms, float64."""
    h = expected = stack.start.astype(np.float64)
    found = []
    for weights in stack.weights:
        expected = expected + _normalised(expected, stack.gain) @ weights.T.astype(np.float64)
        a = scheme.activations(_normalised(h, stack.gain).astype(np.float32))
        h = h + product(a, scheme.weights(weights), scheme.accumulator)
        found.append(np.linalg.norm(h - expected) / np.linalg.norm(expected))
    return np.array(found)


def budget(rng: np.random.Generator, schemes: Mapping[str, Scheme] = SCHEMES) -> dict[str, np.ndarray]:
    """{scheme: its errors}, on one stack: what each scheme costs after each layer."""
    stack = make_stack(rng)
    return {name: errors(stack, scheme) for name, scheme in schemes.items()}


def _normalised(h: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return gain * h / np.sqrt(np.mean(h * h, axis=1, keepdims=True))


def _case(x: np.ndarray) -> Case:
    return Case(rows=x.shape[0], columns=x.shape[1])


def _there_and_back(x: np.ndarray, run: Callable, layout: Layout, group: int | None = None) -> np.ndarray:
    """Quantise on the device, dequantise on the host; one scale for all counts as one per row."""
    buffers = {"x": cuda.to_device(x)} | {name: cuda.device_array(*of) for name, of in layout.items()}
    run(buffers)
    q, scale = buffers["q"].copy_to_host(), buffers["scale"].copy_to_host()
    return dequantise_reference(q, scale if scale.ndim == 2 else np.broadcast_to(scale, (len(q),))[:, np.newaxis], group)
