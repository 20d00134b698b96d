# %% [markdown]
# # Quantised ops
#
# - **You will do:** turn floats into 8 and 4 bits by hand and by kernel, multiply the codes, read weights of half a byte, and
# watch the error grow through a stack of layers.
# - **You will learn:** why bytes decide, what a scale should cover, how a wrong layout passes its test, where errors come from.
# - **You need:** [reductions and shuffles](50_reductions_and_shuffles.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Why bytes decide
# A decoder makes one token at a time: every layer multiplies *one* vector by its weights, and each weight is used once. Take a
# layer of 14,336 x 4,096 weights. This device reads 3,350 GB and computes 66,900 GFLOP in float32 in a second, at its best.
# How many microseconds does reading the weights take in float32? And their multiplications and additions?

# %%
read_us, compute_us = ..., ...  # microseconds

# %%
import numpy as np

import simt

device = simt.device()
assert device.dram_gb_per_s == 3350 and round(device.peak_gflops("fp32"), -2) == 66_900
WEIGHTS = 14_336 * 4_096
GROUP = 128  # int4: a float32 scale for each 128 weights
bytes_per_weight = {"float32": 4, "float16": 2, "int8": 1, "int4": 0.5 + 4 / GROUP}
floor_us = {name: WEIGHTS * each / (device.dram_gb_per_s * 1e3) for name, each in bytes_per_weight.items()}
notebook.compare("to read, us", read_us, floor_us["float32"], tag="it is")
arithmetic_us = 2 * WEIGHTS / (device.peak_gflops("fp32") * 1e3)
notebook.compare("to compute, us", compute_us, arithmetic_us, tag="it is")

# %%
print(f"arithmetic {arithmetic_us:.2f} us, a share of {arithmetic_us / floor_us['float32']:.3f} of the time to read float32")
for name, us in floor_us.items():
    print(f"{name:8} {8 * bytes_per_weight[name]:5.2f} bits each, {us:5.1f} us")

# %% [markdown]
# Arithmetic needs a small part of the time. Weights of 4 bits could make the layer more than seven times as fast, on the same
# memory. So: store small integers, the **codes**, and a **scale** that says what a code of 1 is worth.
#
# ## Codes by hand
# The largest magnitude of a group becomes 127, and everything else follows: scale = absmax / 127, code = x / scale, rounded,
# ties to even.

# %%
from kernels.quant import codes

notebook.show(codes.code_of)

# %% [markdown]
# A row holds 254, -254, 1, 3, 5. What are the codes of 1, 3 and 5?

# %%
code_of_1, code_of_3, code_of_5 = ..., ..., ...

# %%
from numba import cuda

from kernels.quant import quantise


def quantised(x):
    """(codes, scales) of the rows of x, made by the ladder's first step."""
    x = np.array(x, np.float32)
    buffers = {"x": cuda.to_device(x), "q": cuda.device_array(x.shape, np.int8),
               "scale": cuda.device_array(len(x), np.float32)}
    quantise.LADDER.step("thread_per_row").run(buffers)
    return buffers["q"].copy_to_host(), buffers["scale"].copy_to_host()


found, scale = quantised([[254, -254, 1, 3, 5]])
for said, code, number in zip((code_of_1, code_of_3, code_of_5), found[0, 2:], (1, 3, 5), strict=True):
    notebook.compare(f"code of {number}", said, int(code), tag="it is")

# %%
print("scale", scale[0], "codes", found[0])

# %% [markdown]
# 0.5, 1.5 and 2.5 go to the even neighbour: 0, 2, 2. Always upwards would push every sum a little upwards as well. The code
# -128 is never used, so that `-x` has minus the codes of `x`.
#
# Rows that quantisers are known to trip over: all zeros (0 / 0), an infinity, a NaN, and numbers so small that the scale
# itself is rounded. In the last row $u = 2^{-149}$ is the smallest float32 above zero, and $190u / 127 = 1.496u$ becomes $1u$.
# What code gets $190u$?

# %%
predicted = ...  # code of 190 u
u = 2.0**-149
special = {"zeros": [0, 0, 0, 0], "infinity": [1, -2, np.inf, 4], "NaN": [1, np.nan, 3, 4],
           "tiny": [190 * u, 100 * u, -190 * u, 0]}
found, scale = quantised(list(special.values()))
notebook.compare("code of 190 u", predicted, int(found[3, 0]), tag="it is")

# %%
for name, q, s in zip(special, found, scale, strict=True):
    with np.errstate(invalid="ignore"):  # 0 times infinity is the NaN that it should be
        print(f"{name:9} scale {s:<8.3g} codes {q!s:20} mean {q * s}")
print("cut to 8 bits, 190 would be", np.array(190).astype(np.int8))

# %% [markdown]
# It **saturates**: 190 does not fit and becomes 127. A conversion that wraps would make it -66. Zeros stay zeros with scale 0,
# and an infinity or a NaN spoils its group visibly, but no other.
#
# ## What it costs
# Finding the absmax of a row is a reduction, as in the last notebook. The least that a kernel can move per number is 4 bytes
# in and 1 out, and the row's scale. How many bytes per number does the first step ask for, which reads the row twice? How many
# the last one, which keeps the row in registers? Rows have 256 numbers.

# %%
first_predicted, last_predicted = ..., ...  # bytes per number

# %%
from simt.observe import names

ROWS, COLUMNS = 128, 256


def bytes_per_number(ran):
    asked = ran.counters[names.GLOBAL_BYTES_REQUESTED_LD] + ran.counters[names.GLOBAL_BYTES_REQUESTED_ST]
    return asked / (ROWS * COLUMNS)


first, last = (notebook.run(f"quantise/{step}", rows=ROWS, columns=COLUMNS) for step in ("thread_per_row", "registers"))
notebook.compare("bytes per number, thread_per_row", first_predicted, bytes_per_number(first))
notebook.compare("bytes per number, registers", last_predicted, bytes_per_number(last))

# %%
for ran in (first, last):
    print(f"{ran.name:23} {bytes_per_number(ran):.3f} bytes per number")
print(f"sectors per load request: {first.sectors_per_request:g}, then {last.sectors_per_request:g}; "
      f"load requests: {first.counters[names.GLOBAL_REQUESTS_LD]:,}, then {last.counters[names.GLOBAL_REQUESTS_LD]:,}")

# %% [markdown]
# The requests of `registers` are those of 16 bytes a lane: 16 sectors are what they need, and all of them are used.
#
# ## What a scale should cover
# One scale for a whole tensor, one per row, or one per group of neighbours. Scales cost bytes: with float32 scales, how many
# bits per number are int8 in groups of 32? And int4 in groups of 128?

# %%
int8_bits, int4_bits = ..., ...  # bits per number, scales included
notebook.compare("bits, int8 in groups of 32", int8_bits, 8 + 32 / 32, tag="it is")
notebook.compare("bits, int4 in groups of 128", int4_bits, 4 + 32 / 128, tag="it is")

# %% [markdown]
# And they buy accuracy. 16 rows of 256 normal numbers; each row is twice as large as the one before, and one column is 30
# times as large as the others, as some columns of a transformer's activations are (Dettmers et al., *LLM.int8()*, 2022).
# Quantise on the device, multiply by the scales, and compare:

# %%
import matplotlib.pyplot as plt

from kernels.quant import drift

rng = np.random.default_rng(1)
size = 2.0 ** np.arange(-8, 8)  # of the rows
x = (rng.standard_normal((16, 256)) * size[:, np.newaxis]).astype(np.float32)
x[:, 77] = 30 * size
WAYS = {"per tensor": drift.int8_per_tensor, "per row": drift.int8_per_row, "per group of 32": drift.int8_per_group}
plain = np.arange(256) != 77  # the columns that do not stick out

figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for (name, way), colour in zip(WAYS.items(), ("#D55E00", "#E69F00", "#0072B2"), strict=True):
    error = np.linalg.norm((way(x) - x)[:, plain], axis=1) / np.linalg.norm(x[:, plain], axis=1)
    axes.semilogy(error, marker="o", color=colour, label=name)
axes.set_xlabel("row, each twice as large as the one before")
axes.set_ylabel("relative error")
axes.set_title("int8: the numbers of a row, without the column that sticks out")
axes.legend(frameon=False)
plt.close(figure)
figure

# %% [markdown]
# With one scale for all, the small rows become zeros: a relative error of 1. With one per row it no longer matters how large
# a row is; but the one large number sets the step for its 255 neighbours. With groups it does so for 31 of them.
#
# ## Two codes in a byte
# int4 has the codes -8 to 7, and memory has bytes. Which code comes first? Here, as in many formats, the **low nibble**:

# %%
from kernels.quant import int4

notebook.show(int4.pack_kernel)

# %% [markdown]
# The codes -8 and 7, packed. Which byte is that, as a number from 0 to 255?

# %%
predicted = ...  # 0 to 255


def packed(row):
    target = cuda.device_array((1, (len(row) + 1) // 2), np.uint8)
    int4.pack(cuda.to_device(np.array([row], np.int8)), target)
    return target.copy_to_host()


notebook.compare("the byte", predicted, int(packed([-8, 7])[0, 0]), tag="it is")

# %%
for row in ([-8, 7], [0, 1, 2, 3, 4, 5, 6, 7], [-8, -7, -6, -5], [1, 2, -3]):
    print(row, "->", packed(row)[0].tobytes().hex(" "))

# %% [markdown]
# Now somebody writes a packer of their own, and a test: pack, unpack, compare.

# %%
def pack_other(codes):
    nibbles = codes.astype(np.uint8) & 0xF
    return nibbles[:, 0::2] << 4 | nibbles[:, 1::2]


def unpack_other(packed):
    nibbles = np.stack([packed >> 4, packed & 0xF], axis=-1).reshape(len(packed), -1)
    return (nibbles.astype(np.int8) ^ 8) - 8


row = np.array([[1, 2, -3, 4]], np.int8)
print("round trip:", np.array_equal(unpack_other(pack_other(row)), row))
print("bytes:     ", pack_other(row)[0].tobytes().hex(" "), "instead of", packed(row[0])[0].tobytes().hex(" "))

# %% [markdown]
# The test passes: packer and unpacker share the mistake, and a round trip sees only the two together. Then a kernel that knows
# the documented layout reads those bytes. Its relative error, where 1 would be an error as large as the result:

# %%
from kernels.case import Case
from kernels.quant import dequant_gemv

CASE = Case(b=1, n=128, k=1024)
inputs = dequant_gemv.LADDER.make(CASE, np.random.default_rng(1))
right = dequant_gemv.LADDER.reference(inputs)["y"]


def error_with(packed):
    buffers = {name: cuda.to_device(array) for name, array in (inputs | {"packed": packed}).items()}
    buffers["y"] = cuda.device_array(right.shape, np.float32)
    dequant_gemv.LADDER.step("int4").run(buffers)
    return np.linalg.norm(buffers["y"].copy_to_host() - right) / np.linalg.norm(right)


print(f"low nibble first {error_with(inputs['packed']):.1e}, high nibble first {error_with(pack_other(inputs['codes'])):.2f}")

# %% [markdown]
# Hence **golden bytes**: a few codes whose bytes somebody wrote down by hand, from the document and not from the program.
# `tests/kernels/test_int4.py` has them.
#
# ## Multiplying codes
# `int8_matmul` multiplies codes by codes (W8A8), sums in int32, and applies both scales to the finished sum, since they do not
# depend on k. Integers do not round: every order gives the same sum, so tests may ask for equality. But int32 ends at
# $2^{31} - 1$. The largest product is $(-128)^2$. How many of them fit?

# %%
from kernels.quant import int8_matmul

predicted = ...  # largest k
notebook.compare("largest k", predicted, int8_matmul.LARGEST_K, tag="it is")

# %% [markdown]
# One instruction, `dp4a`, multiplies four codes by four codes and adds all of it to a sum. (1, -2, 3, -4) and (5, 6, 7, 8), to
# a sum of 100?

# %%
from kernels.dp4a import dp4a


@cuda.jit
def one(a, b, total):
    total[0] = dp4a(a[0], b[0], total[0])


predicted = ...
words = [cuda.to_device(np.array(four, np.int8).view(np.int32)) for four in ([1, -2, 3, -4], [5, 6, 7, 8])]
total = cuda.to_device(np.array([100], np.int32))
one[1, 1](*words, total)
notebook.compare("the sum", predicted, int(total.copy_to_host()[0]), tag="it is")

# %%
notebook.changes("int8_matmul/dp4a")

# %% [markdown]
# A tile of words instead of one of codes. Loads of shared memory, before and after: how many times fewer?

# %%
predicted = ...  # shared load requests of tiled / of dp4a
tiled, by_fours = (notebook.run(f"int8_matmul/{step}", m=64, n=64, k=128) for step in ("tiled", "dp4a"))
loads = [ran.counters[names.SHARED_REQUESTS_LD] for ran in (tiled, by_fours)]
notebook.compare("times fewer", predicted, loads[0] / loads[1])

# %%
print(f"right: {tiled.correct and by_fours.correct}; shared loads {loads[0]:,}, then {loads[1]:,}")

# %% [markdown]
# The compiler makes `dp4a` of the first kernel's products as well. What it cannot do is load four codes as one word: it picks
# them up byte by byte and packs them, each time. The layout of the data decided, not the arithmetic.
#
# ## Reading weights for one token
# Back to the layer of the beginning. `dequant_gemv` multiplies one vector by weights of 8 or 4 bits, and makes floats of them
# in registers. With one thread per row, neighbouring lanes read different rows. How many sectors does a request for weights
# touch?

# %%
GEMV = ("fused_int8", "int4", "warp_per_row", "four_rows")
runs = {step: notebook.run(f"dequant_gemv/{step}", b=1, n=128, k=1024) for step in GEMV[1:]}
WORDS = {"int4": "packed[row, i // 2]", "warp_per_row": "packed[row, i]"}
of_weights = {step: notebook.line_of(runs[step], words) for step, words in WORDS.items()}


def sectors_of_weights(step):
    counters = next(counters for (_, line), counters in runs[step].lines.items() if line == of_weights[step])
    return counters[names.GLOBAL_SECTORS_LD] / counters[names.GLOBAL_REQUESTS_LD]


predicted = ...  # sectors per request for weights, int4
notebook.compare("sectors per request, int4", predicted, sectors_of_weights("int4"))

# %% [markdown]
# And with a warp per row, 32 lanes reading 32 neighbouring bytes?

# %%
predicted = ...  # sectors per request for weights, warp_per_row
notebook.compare("sectors per request, warp_per_row", predicted, sectors_of_weights("warp_per_row"))

# %%
notebook.access_map(runs["warp_per_row"], line=of_weights["warp_per_row"])

# %%
notebook.show("dequant_gemv/warp_per_row")

# %% [markdown]
# The same bytes in all, half of those of int8. Here is the whole layer, with what its bytes would take at full rate:

# %%
times = notebook.time("dequant_gemv", GEMV)
figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
bars = axes.barh(GEMV, [row.time_ns / 1000 for row in times], color="#0072B2")
axes.bar_label(bars, fmt=" {:.0f}")
for name, colour in (("int8", "#E69F00"), ("int4", "#D55E00")):
    axes.axvline(floor_us[name], color=colour, label=f"{name} weights once, at full rate")
axes.invert_yaxis()
axes.set_xlabel(f"{times.kind} time, us")
axes.legend(frameon=False, loc="lower right")
plt.close(figure)
figure

# %%
notebook.table(times)

# %% [markdown]
# From int8 to int4 the bytes halve, but see what bounds the first two: not the memory, which could read the weights many times
# as fast. One thread per row keeps the load/store unit busy, whose requests int4 halves too. What is `four_rows` waiting for?

# %%
for name, ns in sorted(times[-1].terms_ns.items(), key=lambda term: -term[1])[:5]:
    print(f"{name:16} {ns / 1000:5.1f} us")

# %% [markdown]
# The unit that is called *sfu* here converts integers to floats as well, 16 a cycle in each SM. How many conversions does a
# weight take?

# %%
predicted = ...  # conversions per weight, four_rows
converted = 32 * runs["four_rows"].counters[names.instructions("convert")] / (128 * 1024)
notebook.compare("conversions per weight", predicted, converted)

# %% [markdown]
# One, and a little for indices. So the next bottleneck is making floats of codes, and it can be got round: write the four bits
# into the fraction of a float whose exponent is known, and subtract (Kim et al., *Who Says Elephants Can't Run*, 2022). The
# list above says what would bind next: without that term and the loads it is issue and integer arithmetic, before memory.
#
# ## What it costs in accuracy
# Rounding once is harmless. A model rounds in every layer, and each layer builds on the errors of the one before. `drift`
# sends 16 tokens through a stack of 8 layers with products on the device, and compares with float64 after each.
#
# First the sums. float16 has 11 bits for its digits. What is the sum of 4,096 ones in float16?

# %%
predicted = ...  # the sum
ones = np.ones((1, 4096), np.float32)
notebook.compare("4096 ones", predicted, float(drift.product(ones, ones, "float16")[0, 0]), tag="it is")

# %%
print("4096 ones in float16:", drift.product(ones, ones, "float16")[0, 0])

# %%
notebook.show(drift.product_float16)

# %% [markdown]
# From 2048 on, one more is half a unit of the last digit, and the tie goes to even: down. The sum stands still.
#
# Now the stack. The gain of three columns is 30, as above, so activations have columns that stick out and weights do not:

# %%
SHOWN = ("int8 per tensor", "int8 per row, activations only", "int8 per group of 32", "int8 per row, weights only",
         "float16 accumulators", "float32")
ASKED = "int8 per row"  # shown later
budget = drift.budget(np.random.default_rng(1), {name: drift.SCHEMES[name] for name in (*SHOWN, ASKED)})
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
layers = np.arange(1, drift.LAYERS + 1)
for name, colour in zip(SHOWN[:-1], ("#D55E00", "#CC79A7", "#0072B2", "#56B4E9", "#009E73"), strict=True):
    axes.plot([0, *layers], [0, *(100 * budget[name])], marker="o", markersize=3, color=colour, label=name)
axes.set_xlabel("layer")
axes.set_ylabel("relative error, %")
axes.set_title("Errors after each layer, against float64 (float32 would lie on the axis)")
axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.close(figure)
figure

# %%
def errors(name):
    """After the first layer and after the last, in per cent."""
    return 100 * budget[name][[0, -1]]


for name in SHOWN:
    first, last = errors(name)
    print(f"{name:31} {first:9.2g} % after the first layer, {last:9.2g} % after the last, {last / first:.1f}x")

# %% [markdown]
# Eight layers only double the error: independent errors add like the sides of a right angle, not end to end, and what they are
# compared with grows as well. Weights alone and activations alone, after the last layer: what should both together give, by
# Pythagoras? In per cent:

# %%
predicted = ...  # % after the last layer, int8 per row
notebook.compare("both, %", predicted, errors(ASKED)[1], tag="it is")

# %%
print(f"both {errors(ASKED)[1]:.2f} %")
print(f"by Pythagoras {100 * np.hypot(budget['int8 per row, weights only'], budget['int8 per row, activations only'])[-1]:.2f}")

# %% [markdown]
# That is an error budget: it says what is worth improving. Better weights would change next to nothing here, since the
# activations' error hides theirs; smaller groups for the activations would. And float16 sums, thousands of times worse than
# float32 ones, disappear behind int8.
#
# Codes, scales and integer sums are defined to the last bit, on a GPU as here; only times are modelled. A stack of random
# layers is no language model, though: whether an error of 3 % matters is decided by what the model says, not by a norm.
#
# ## On your own
# - `drift.SCHEMES` has 8-bit floats, too: `e4m3 per row` and `e5m2 per row`, which has a bit less of fraction. Predict the
#   ratio of their errors.
# - A packer for the order 0 2 4 6 1 3 5 7 within eight codes: write its golden bytes first, by hand.
# - `./ladder climb int8_matmul` goes on to 8 x 8 sums per thread. `./ladder climb dequant_gemv` has two rungs that we skipped.
# - `./ladder exercise check quant/thread_per_row`, then `quant/block_per_row`, `quant/warp_per_row`, `quant/int8_naive`,
#   `quant/int8_dp4a`, `quant/int8_fused`, `quant/gemv_int8`, `quant/gemv_int4`, `quant/gemv_warp`.
#
# Next: [reading PTX and SASS](70_reading_ptx_and_sass.ipynb).
