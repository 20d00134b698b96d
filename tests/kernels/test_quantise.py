"""int8 codes per row, per group and per tensor: rounding, scales, tails, and what is not a number."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from numba import cuda
from numba.core.errors import TypingError

import simt
from kernels.case import Case
from kernels.ladder import load_ladder
from kernels.quant import codes as device
from kernels.quant.formats import absmax_scale, dequantise_reference, quantise_reference
from kernels.quant.quantise import LADDER, SPECIAL, make, per_group, per_tensor
from simt.observe.names import FLOPS_FP32, GLOBAL_BYTES_REQUESTED_LD, GLOBAL_BYTES_REQUESTED_ST
from workbook import poison

HUGE = 1e30  # stands around x in memory: whoever reads past a row's end gets a scale that shows it
LAST = 2.0**-149  # the least positive float32
CASES = [*LADDER.cases, Case(rows=3, columns=100)]  # groups of 64: the last of 36

every_step = pytest.mark.parametrize("step", LADDER.steps, ids=lambda step: step.name)
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_group = pytest.mark.parametrize("group", per_group.GROUPS)
every_kind = pytest.mark.parametrize("kind", LADDER.kinds)


def rows(*values) -> np.ndarray:
    return np.array(values, np.float32)


def surrounded(x):
    """x on the device, with huge numbers before and after it."""
    edge = np.full(64, HUGE, np.float32)
    return cuda.to_device(np.concatenate([edge, x.ravel(), edge]))[64 : 64 + x.size].reshape(x.shape)


def launch(run, x, layout, **scratch):
    """(q, scale) on the host; outputs are poisoned before."""
    buffers = {"x": surrounded(x), **{name: cuda.device_array(*of) for name, of in scratch.items()}}
    for name, (shape, dtype) in layout.items():
        buffers[name] = cuda.to_device(poison.fill(shape, dtype, poison.POISON))
    run(buffers)
    return tuple(buffers[name].copy_to_host() for name in ("q", "scale"))


def case_of(x) -> Case:
    return Case(rows=x.shape[0], columns=x.shape[1])


def by_row(x, step="registers"):
    q, scale = launch(lambda buffers: LADDER.step(step).run(buffers), x, LADDER.outputs(case_of(x), {}))
    return q, scale[:, np.newaxis]


def by_tensor(x):
    scratch = per_tensor.scratch(case_of(x), {})
    q, scale = launch(lambda buffers: per_tensor.run(buffers, 0), x, per_tensor.outputs(case_of(x), {}), **scratch)
    return q, scale


def by_group(x, group):
    return launch(lambda buffers: per_group.run(buffers, 0, group), x, per_group.outputs(case_of(x), {}, group))


WAYS = {
    **{step.name: lambda x, name=step.name: by_row(x, name) for step in LADDER},
    **{f"group of {group}": lambda x, group=group: by_group(x, group) for group in per_group.GROUPS},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


# --- rounding


@every_way
def test_a_tie_goes_to_the_even_code(way):
    """tenstorrent/tt-metal#56525, Comfy-Org/comfy-kitchen PR#58, weicj/vLLM-2080Ti-Definitive PR#109, ROCm/aiter PR#4637,
    vllm-project/compressed-tensors PR#777: half away from zero, or floor(x + 0.5)."""
    x = rows([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 127])
    q, scale = way(x)
    assert scale.tolist() == [[1.0]]
    assert q.tolist() == [[0, 2, 2, 4, 0, -2, -2, 127]]


def test_halfway_inputs_are_halfway(rng):
    """The same reports: a tolerance of one code hides the rounding, so codes are compared exactly, and many on ties."""
    x = make(Case(rows=50, columns=40), rng, "integers")["x"]
    assert (absmax_scale(x) == 2).all()
    assert np.mean(x % 2 == 1) > 0.4
    away = np.sign(x) * np.floor(np.abs(x) / 2 + 0.5)
    assert np.mean(away != LADDER.reference({"x": x})["q"]) > 0.2  # rounding away from zero does not pass


@every_way
def test_codes_keep_their_signs(way, rng):
    """microsoft/onnxruntime PR#29509: a sign was flipped in the symmetric scheme."""
    x = make(Case(rows=4, columns=32), rng)["x"]
    q, scale = way(x)
    negated, same = way(-x)
    assert np.array_equal(q, -negated)
    assert np.array_equal(scale, same)
    assert np.all(q * x >= 0)


@every_way
def test_the_code_minus_128_is_never_used(way):
    q, _ = way(rows([-127, 126, -3e38, 3e38], [-1, 0, 0, 0]))
    assert q.tolist() == [[0, 0, -127, 127], [-127, 0, 0, 0]]


# --- scales at the edges


@every_way
def test_a_row_of_zeros_has_codes_0_and_scale_0_and_leaves_other_rows_alone(way):
    """huggingface/kernels-community#681, ROCm/aiter#4289, PR#4291, pytorch/ao PR#4762, microsoft/BitNet PR#123,
    vllm-project/tpu-inference PR#1694: 0/0 is a NaN."""
    q, scale = way(rows([1, 2, 3, 127], [0, -0.0, 0, 0], [127, 3, 2, 1]))
    assert scale.tolist() == [[1], [0], [1]]
    assert q.tolist() == [[1, 2, 3, 127], [0, 0, 0, 0], [127, 3, 2, 1]]
    assert dequantise_reference(q, scale)[1].tolist() == [0, 0, 0, 0]


@every_way
def test_a_row_of_a_millionth_keeps_all_its_codes_where_a_float16_scale_would_be_0(way):
    """apple/coremltools PR#2851, Comfy-Org/comfy-kitchen PR#60: the scale underflowed."""
    x = rows([1e-6, -1e-6, 4e-7, 0])
    q, scale = way(x)
    assert np.float16(scale[0, 0]) == 0
    assert q.tolist() == [[127, -127, 51, 0]]
    assert np.abs(dequantise_reference(q, scale) - x).max() <= scale[0, 0] / 2


@every_way
def test_codes_are_0_where_the_scale_underflows_to_0(way):
    """apple/coremltools PR#2851, Comfy-Org/comfy-kitchen PR#60: a scale of 0 has to be guarded, wherever it comes from."""
    q, scale = way(rows([60 * LAST, -60 * LAST, LAST, 0]))
    assert scale.tolist() == [[0]]
    assert q.tolist() == [[0, 0, 0, 0]]


@every_way
def test_codes_saturate_where_a_subnormal_scale_is_rounded_down(way):
    q, scale = way(rows([190 * LAST, -190 * LAST, 100 * LAST, LAST]))
    assert scale.tolist() == [[LAST]]  # 190 / 127 of it, rounded
    assert q.tolist() == [[127, -127, 100, 1]]


@every_way
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_number_that_is_not_finite_makes_its_row_not_a_number_and_no_other(way, bad):
    q, scale = way(rows([1, 2, 3, 127], [1, bad, 3, 127], [127, 3, 2, 1]))
    assert q.tolist() == [[1, 2, 3, 127], [0, 0, 0, 0], [127, 3, 2, 1]]
    assert scale[[0, 2]].tolist() == [[1], [1]]
    assert np.isnan(scale[1, 0]) if np.isnan(bad) else scale[1, 0] == np.inf
    assert np.isnan(dequantise_reference(q, scale)[1]).all()


def test_a_number_that_is_not_finite_spoils_its_group_only():
    x = np.ones((1, 100), np.float32)
    x[0, 40] = np.nan
    q, scale = by_group(x, 32)
    assert np.isnan(scale[0]).tolist() == [False, True, False, False]
    assert q[0].tolist() == [127] * 32 + [0] * 32 + [127] * 36


def test_magnitudes_order_like_numbers_with_nan_above_infinity():
    x = rows(0, LAST, 1e-40, 1e-38, 1, 1.5, 3e38, np.inf, np.nan)

    @cuda.jit
    def kernel(numbers, out):
        i = cuda.grid(1)
        out[i] = device.magnitude(numbers[i])

    for signed in (x, -x):
        out = cuda.device_array(x.size, np.int32)
        kernel[1, x.size](cuda.to_device(signed), out)
        assert np.all(np.diff(out.copy_to_host().astype(np.int64)) > 0)


# --- the three granularities on the same cases


@every_kind
@every_case
def test_one_scale_for_the_tensor(case, kind, rng):
    x = make(case, rng, kind)["x"]
    q, scale = by_tensor(x)
    expected, expected_scale = quantise_reference(x.reshape(1, -1))
    np.testing.assert_array_equal(scale, expected_scale[0])
    np.testing.assert_array_equal(q.ravel(), expected[0])


@every_group
@every_kind
@every_case
def test_one_scale_for_each_group(case, kind, group, rng):
    x = make(case, rng, kind)["x"]
    q, scale = by_group(x, group)
    expected, expected_scale = quantise_reference(x, group)
    np.testing.assert_array_equal(scale, expected_scale)
    np.testing.assert_array_equal(q, expected)


def test_a_short_last_group_has_the_absmax_of_its_own_numbers():
    """bitsandbytes PR#1884: the tail took the absmax of memory that nobody had written."""
    x = np.full((2, 100), 5, np.float32)
    x[:, 64:] = [[1], [2]]
    _, scale = by_group(x, 64)
    assert (scale * 127).tolist() == [[5, 1], [5, 2]]


def test_the_same_row_has_the_same_codes_alone_and_as_one_group(rng):
    x = make(Case(rows=5, columns=128), rng)["x"]
    for one, other in zip(by_row(x), by_group(x, 128), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_error_grows_smoothly_with_the_group(rng):
    """bitsandbytes#565, PR#1160: one size of block was wrong, and the tests knew another one only."""
    x = rng.standard_normal((64, 512), dtype=np.float32)
    errors = []
    for group in (*per_group.GROUPS, 512):
        q, scale = by_group(x, group) if group < 512 else by_row(x)
        errors.append(np.sqrt(np.mean((dequantise_reference(q, scale, group) - x) ** 2)))
    steps = np.divide(errors[1:], errors[:-1])
    assert np.all((steps > 1) & (steps < 1.35)), steps


def test_two_runs_with_one_scale_give_the_same_bits_in_any_order(rng, monkeypatch):
    x = make(Case(rows=40, columns=333), rng)["x"]
    runs = []
    for schedule in ("forward", "reverse", "7"):
        monkeypatch.setenv("SIMT_SCHEDULE", schedule)
        runs.append(b"".join(array.tobytes() for array in by_tensor(x)))
    assert len(set(runs)) == 1


@pytest.mark.parametrize("group", [0, -1, 33, 256, 2**64])
def test_a_group_that_is_not_one_of_three_is_refused(group):
    """bitsandbytes#1071: a block of 2**64 killed the process."""
    with pytest.raises(ValueError, match=f"32, 64 or 128 columns, not {group}"):
        per_group.run({"x": np.zeros((1, 4), np.float32), "scale": np.zeros((1, 1), np.float32)}, 0, group)


def test_scales_of_another_grouping_are_refused():
    with pytest.raises(ValueError, match=r"in groups of 32 needs scales \(2, 4\), not \(2, 2\)"):
        per_group.run({"x": np.zeros((2, 100), np.float32), "scale": np.zeros((2, 2), np.float32)}, 0, 32)


# --- cost, types, addresses


def counted(run) -> Counter:
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device counts")
    with simt.profile(sample="all") as profile:
        run()
    return sum((Counter(launch.counters) for launch in profile.launches), Counter())


@every_case
def test_the_cost_of_the_other_granularities_is_what_is_counted(case, rng):
    x = make(case, rng)["x"]
    ways = [(lambda: by_tensor(x), per_tensor.cost(case))]
    ways += [(lambda group=group: by_group(x, group), per_group.cost(case, group)) for group in per_group.GROUPS]
    for run, cost in ways:
        counters = counted(run)
        assert counters[GLOBAL_BYTES_REQUESTED_LD] == cost.load_bytes
        assert counters[GLOBAL_BYTES_REQUESTED_ST] == cost.store_bytes


@pytest.mark.parametrize("case", LADDER.cases, ids=str)
def test_a_thread_per_row_divides_once_for_each_number_and_once_for_the_scale(case, counters):
    step = LADDER.step("thread_per_row")
    assert counters(step, case)[FLOPS_FP32] == step.cost(case).flops == case["rows"] * (case["columns"] + 1)


def test_the_other_granularities_use_no_float64_and_no_local_memory(rng):
    x = make(Case(rows=2, columns=40), rng)["x"]
    by_tensor(x)
    by_group(x, 32)
    for kernel in (per_tensor.clear, per_tensor.largest, per_tensor.codes, per_group.kernel):
        for ptx in kernel.inspect_asm().values():
            assert not re.search(r"\b(?:ld|st)\.local\b|\.f64\b|\bcall\b", ptx)


def test_the_maxima_of_a_warp_are_exchanged_in_five_shuffles(counters):
    one_row = Case(rows=1, columns=1)
    assert counters(LADDER.step("warp_per_row"), one_row)["ptx__inst_executed_warp"] == 5  # of an int64: ten


@every_step
def test_float16_inputs_are_converted_or_refused_but_never_read_as_float32(step, rng):
    """bitsandbytes#1540: zeros and a crash."""
    x = rng.standard_normal((5, 64)).astype(np.float16)
    buffers = {"x": cuda.to_device(x), "q": cuda.device_array(x.shape, np.int8), "scale": cuda.device_array(5, np.float32)}
    if step.name in ("vectorised", "registers"):
        with pytest.raises(TypingError, match="the array holds float16; 16-byte accesses here move four float32"):
            step.run(buffers)
    else:
        step.run(buffers)
        np.testing.assert_array_equal(buffers["q"].copy_to_host(), LADDER.reference({"x": x.astype(np.float32)})["q"])


@every_step
def test_a_row_past_two_to_the_31_numbers_is_found(step):
    """524289 rows of 4096: x has 8.6 GB of addresses, of which only the blocks that run touch a page."""
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device runs single blocks")
    last, columns = 2**19, 4096
    row = np.arange(columns, dtype=np.float32) - 1000
    x = cuda.device_array((last + 1, columns), np.float32)
    q, scale = cuda.device_array(x.shape, np.int8), cuda.device_array(len(x), np.float32)
    x[last].copy_to_device(row)
    with simt.profile(sample=2**20, execute="sampled"):  # the last block is a class of its own
        step.run({"x": x, "q": q, "scale": scale})
    expected = LADDER.reference({"x": row[np.newaxis]})
    np.testing.assert_array_equal(scale[last : last + 1].copy_to_host(), expected["scale"])
    np.testing.assert_array_equal(q[last].copy_to_host(), expected["q"][0])


# --- inputs and the NumPy reference


def test_special_inputs_have_rows_of_zeros_tiny_rows_and_what_is_not_finite(rng):
    x = make(Case(rows=400, columns=3), rng, "special")["x"]
    absmax = np.abs(x).max(axis=1)
    assert np.mean(absmax == 0) >= 0.25
    assert np.any((absmax > 0) & (absmax_scale(x)[:, 0] == 0))
    assert all(np.any((absmax == special) | (np.isnan(absmax) & np.isnan(special))) for special in np.abs(SPECIAL))


def test_normal_inputs_have_rows_of_many_sizes(rng):
    scale = LADDER.reference(make(Case(rows=100, columns=8), rng))["scale"]
    assert scale.max() / scale.min() > 1e8  # a scale of another row cannot pass


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="one of integers, normal, special, not 'zeros'"):
        make(Case(rows=1, columns=1), rng, "zeros")


def test_the_reference_divides_by_the_scale_of_each_number():
    x = rows([127, 1, 254, 3, -10])
    q, scale = quantise_reference(x, group=2)
    np.testing.assert_array_equal(scale, rows([1, 2, np.float32(10) / np.float32(127)]))
    assert q.tolist() == [[127, 1, 127, 2, -127]]
    assert dequantise_reference(q, scale, group=2)[0, :4].tolist() == [127, 1, 254, 4]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_of_an_empty_array_there_are_no_codes_and_the_scale_of_all_is_zero(shape):
    q, scale = by_tensor(np.empty(shape, np.float32))
    assert q.shape == shape and scale.tolist() == [0]
    for group in per_group.GROUPS:
        q, scale = by_group(np.empty(shape, np.float32), group)
        assert q.shape == shape and scale.size == 0


def test_the_reference_takes_what_is_empty():
    q, scale = quantise_reference(np.empty((3, 0), np.float32))
    assert (q.shape, scale.tolist()) == ((3, 0), [[0], [0], [0]])
    q, scale = quantise_reference(np.empty((3, 0), np.float32), 32)
    assert (q.shape, scale.shape) == ((3, 0), (3, 0))
    q, scale = quantise_reference(np.empty((0, 5), np.float32))
    assert (q.shape, scale.shape) == ((0, 5), (0, 1))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_the_reference_refuses_what_is_not_float32(dtype):
    with pytest.raises(TypeError, match=f"x must be float32, not {np.dtype(dtype)}"):
        quantise_reference(np.zeros((1, 4), dtype))


@pytest.mark.parametrize("group", [0, -1, 2**31, 2**64])
def test_the_reference_refuses_an_absurd_group(group):
    """bitsandbytes#1071: a block of 2**64 killed the process."""
    with pytest.raises(ValueError, match=f"from 1 to 2\\*\\*31 - 1 columns, not {group}"):
        absmax_scale(np.zeros((1, 4), np.float32), group)


def test_the_reference_refuses_what_has_no_rows():
    with pytest.raises(ValueError, match=r"\(rows, columns\), not 1-dimensional"):
        absmax_scale(np.zeros(4, np.float32))


def test_int4_codes_reach_from_minus_7_to_7():
    q, scale = quantise_reference(rows([-7, 0.5, 1.5, 7, 3]), largest=7)
    assert (q.tolist(), scale.tolist()) == ([[-7, 0, 2, 7, 3]], [[1]])


def test_the_ladder_is_found_by_its_last_word():
    assert load_ladder("quantise") is LADDER
