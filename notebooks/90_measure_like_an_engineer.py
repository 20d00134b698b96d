# %% [markdown]
# # Measure like an engineer
#
# - **You will do:** make the usual mistakes of timing on purpose, hold a time against a bound, catch a kernel that is fast and
#   wrong, find a regression without a clock.
# - **You will learn:** what a number must carry before anyone should believe it.
# - **You need:** [roofline and occupancy](80_roofline_and_occupancy.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Two clocks
# The kernel to time is `reduction/sequential`: each block of 256 threads adds 256 values.

# %%
notebook.show("reduction/sequential")

# %% [markdown]
# One clock belongs to the host: `time.perf_counter_ns`. The other one belongs to the device: two **events**, recorded before
# and after on the stream of the launch. On this device
#
# - the clock of the host is **measured here on this CPU**. It says how long the *emulation* takes, and something else in every
#   run; so what this notebook keeps of it is only which of two is longer;
# - events are **modelled**: they say what the kernel would take on an H100, and the same in every run.
#
# On a GPU events **measure**. So the same code serves on both, and every table here says which it was.

# %%
import time

import numpy as np
from numba import cuda

from kernels.reduction.s30_sequential import kernel

n = 1 << 20
values = np.ones(n, np.float32)
x, sums = cuda.to_device(values), cuda.device_array(n // 256, np.float32)


def on_the_host(work) -> float:
    """Nanoseconds of this CPU."""
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


def on_the_device(work) -> float:
    """Nanoseconds between two events: modelled on the emulated device, measured on a GPU."""
    start, end = cuda.event(), cuda.event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return 1e6 * cuda.event_elapsed_time(start, end)


def launch(of=x, by=kernel):
    by[n // 256, 256](of, sums)


launch()  # compiles
one = on_the_device(launch)
print(f"modelled: one launch {one / 1000:.2f} us, ten {on_the_device(lambda: [launch() for _ in range(10)]) / 1000:.2f} us")

# %% [markdown]
# ## Four wrong times
# **The first call.** It also compiles. `cuda.jit` of the same function gives a kernel that has not been compiled yet:

# %%
newly = cuda.jit(kernel.py_func)
first = on_the_host(lambda: launch(by=newly))
later = min(on_the_host(lambda: launch(by=newly)) for _ in range(5))
print("measured here on this CPU: the first call takes more than twice as long as a later one:", first > 2 * later)

newly = cuda.jit(kernel.py_func)
print("modelled: the first call takes as long as the second:", on_the_device(lambda: launch(by=newly)) == one)

# %% [markdown]
# The emulated device's clock stands still while the host compiles. A GPU's does not: with both events around a first call, the
# compiler's time lies between them. So warm up first, with every type that you will time.
#
# **A launch without `cuda.synchronize()`.** On a GPU a launch returns when it has been *asked for*, some microseconds later,
# whatever the kernel does: a clock of the host around it gives every kernel the same flattering time. The emulated device has
# run the kernel when the launch returns. So it cannot show you that mistake, but another clock that has nothing to do with it:

# %%
asked = min(on_the_host(launch) for _ in range(5))
waited = min(on_the_host(cuda.synchronize) for _ in range(5))
print("measured here on this CPU: the launch takes longer than the wait after it:", asked > waited)
print("and this many times longer than the modelled time:", "more than 100" if asked > 100 * one else "less than 100")

# %% [markdown]
# That is the price of emulation, and says nothing about the kernel. Never compare kernels by it.
#
# **NumPy arrays as arguments.** Numba copies them to the device before the kernel, and back after it. `x` has 4 MiB, and the
# model's bus moves 25 GB/s each way. How many times longer is the time between the events, with the NumPy array?

# %%
import warnings

predicted = ...  # times as long
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    with_copies = on_the_device(lambda: launch(of=values))
notebook.compare("NumPy array over device array", predicted, with_copies / one, tag="modelled")

# %%
print(f"modelled: {one / 1000:.2f} us, and {with_copies / 1000:.2f} us with the copies")
print(f"Numba warns: {warned[0].message}")

# %% [markdown]
# Nearly all of it is the bus. Somebody who makes the kernel twice as fast will not see it in that time.
#
# **One sample.** An emulated device has no noise, so here is some that is **made up**, neither modelled nor measured: a clock
# that needs a few launches to come up, 3 % of jitter, and one launch in ten that something else interrupts. Kernel B is
# 3 % faster than kernel A. Both are benchmarked with 30 samples, 2,000 times. In how many percent of these benchmarks is the
# *mean* of B's samples the smaller one? And the *median*?

# %%
mean_predicted, median_predicted = ..., ...  # percent of the benchmarks in which B wins, as it should


# %%
def benchmarks(true_us: float, rng, samples: int = 30, times: int = 2000) -> np.ndarray:
    """Made-up samples (times, samples) of a kernel that takes true_us, in microseconds."""
    coming_up = 1 + 0.25 * np.exp(-np.arange(samples) / 4)
    jitter = 1 + 0.03 * rng.standard_normal((times, samples))
    interrupted = (rng.random((times, samples)) < 0.1) * rng.exponential(60, (times, samples))
    return true_us * coming_up * jitter + interrupted


rng = np.random.default_rng(90)
a, b = benchmarks(100, rng), benchmarks(97, rng)
ways = {"first sample": lambda t: t[:, 0], "mean": lambda t: t.mean(axis=1), "median": lambda t: np.median(t, axis=1),
        "median, without the first 10": lambda t: np.median(t[:, 10:], axis=1)}
right = {name: 100 * (way(b) < way(a)).mean() for name, way in ways.items()}
notebook.compare("percent right by the mean", mean_predicted, right["mean"], tag="in this noise")
notebook.compare("percent right by the median", median_predicted, right["median"], tag="in this noise")

# %%
import matplotlib.pyplot as plt

figure, (left, other) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained", width_ratios=(3, 2))
left.scatter(range(30), a[0], s=14, color="#0072B2", label="one sample")
left.axhline(a[0].mean(), color="#D55E00", label="mean")
left.axhline(np.median(a[0]), color="#009E73", label="median")
left.axhline(100, color="black", linewidth=0.8, linestyle=":", label="truth")
left.set_xlabel("sample")
left.set_ylabel("made-up time of A, us")
left.set_title("One benchmark of 30 samples")
left.legend(frameon=False)
bars = other.barh(list(right), list(right.values()), color="#E69F00")
other.bar_label(bars, fmt=" {:.0f} %")
other.axvline(50, color="black", linewidth=0.8, linestyle=":")
other.set_xlim(0, 115)
other.set_xlabel("benchmarks that see that B is faster, %; a coin has 50")
other.set_title("2,000 benchmarks")
other.invert_yaxis()
plt.close(figure)
figure

# %% [markdown]
# An interruption makes a launch slower, never faster. So the samples lean to one side; a few of them carry the mean away, until
# the mean of 30 samples is no better than a single one. The median stays where most samples are, and comes nearer to the truth
# without the launches in which the clock came up. On a GPU `./ladder record` runs ten of those, takes 30 samples, and keeps
# them all: a median can be computed later, lost samples cannot.
#
# ## Does the number make sense?
# Before you believe a time, hold it against what is possible. This launch has to read $2^{20}$ floats once. At the full rate of
# the memory, 3,350 GB/s: how many microseconds is that?

# %%
import simt

device = simt.device()
assert device.dram_gb_per_s == 3350
bound_us = 4 * n / (device.dram_gb_per_s * 1e3)
predicted = ...  # microseconds
notebook.compare("shortest possible, us", predicted, bound_us, tag="it is")

# %%
print(f"modelled {one / 1000:.2f} us = launch overhead {device.launch_ns / 1e3:.2f} us + the rest; bound {bound_us:.2f} us")

# %% [markdown]
# A time *below* the bound means that the clock is wrong, or that the work was not done. A time far above it means that there is
# something to find. Half of this one is launch overhead: a kernel as small as this is bound by being launched. Give it more
# work, or fuse it.
#
# ## The data was in the cache
# Run a benchmark in a loop, and from the second round on the data may come from L2: 50 MiB here. The kernel below reads all of
# `x` in each round, but in the second round every block reads what another block had. The L1 of its own SM does not help.

# %%
@cuda.jit
def read(x, out, rounds):
    i = cuda.grid(1)
    total = x.dtype.type(0)
    for number in range(rounds):
        total += x[(i + number * (x.size // 2)) % x.size]
    out[i] = total


# %% [markdown]
# Two rounds ask for twice the bytes. How many times as much does the DRAM deliver? (The caches are
# simulated, and begin empty.)

# %%
predicted = ...  # times the sectors of one round

# %%
from simt.observe import names

totals = cuda.device_array(n, np.float32)
with simt.profile(sample="all", caches=True) as profile:
    for rounds in (1, 2):
        read[n // 256, 256](x, totals, rounds)
once, twice = (ran.counters for ran in profile.launches)
notebook.compare("DRAM sectors, times", predicted, twice[names.DRAM_READ_SECTORS] / once[names.DRAM_READ_SECTORS],
                 tag="simulated")

# %%
print("simulated, sectors  asked of L2   found there   read from DRAM")
for title, counters in (("one round", once), ("two rounds", twice)):
    found = [counters[name] for name in (names.L2_READS, names.L2_READ_HITS, names.DRAM_READ_SECTORS)]
    print(f"{title:17}", *(f"{sectors:13,}" for sectors in found))

# %% [markdown]
# Divide the bytes that the threads asked for by the time, and call it the memory's bandwidth: in two rounds that is twice what
# the memory did. Real programs have touched other things in between. So `./ladder record` on a GPU writes over L2 before each
# sample. The emulated device begins every launch with empty caches: its second launch is as cold as its first.
#
# ## A fast wrong kernel
# Somebody has taken the barrier out of the loop of `sequential`; "it saves 8 barriers of 9":

# %%
from kernels.reduction.traps import hasty

notebook.show(hasty.kernel)

# %%
import os

BLOCKS = 64
mixed = np.arange(BLOCKS * 256, dtype=np.float32) % 7
on_device, found = cuda.to_device(mixed), cuda.device_array(BLOCKS, np.float32)


def block_sums(of, order="forward", check=""):
    """The run, and how far its block sums are from NumPy's. `order`: of the warps; a GPU has its own."""
    os.environ["SIMT_SCHEDULE"] = order
    ran = notebook.count(lambda: of[BLOCKS, 256](on_device, found), check=check)
    os.environ["SIMT_SCHEDULE"] = "forward"
    return ran, np.abs(found.copy_to_host() - mixed.reshape(BLOCKS, 256).sum(axis=1)).max()


for name, of in (("sequential", kernel), ("hasty", hasty.kernel)):
    _, error = block_sums(of, order="reverse")
    launch(by=of)
    took = on_the_device(lambda of=of: launch(by=of))
    print(f"{name:10}  modelled {took / 1000:.2f} us for {n:,} values, largest error {error:g}")

# %% [markdown]
# Faster, and right, on the machine of whoever wrote it: there the last warp happens to run first. What if it does not?

# %%
for order in ("reverse", "forward", "7"):  # 7 seeds a random order
    print(f"{order:8} largest error {block_sums(hasty.kernel, order)[1]:g}")

# %% [markdown]
# A GPU may choose any of these orders, and another one tomorrow. A test of values on one machine may pass for years. Ask the
# race checker instead: it does not look at values, but at which accesses nothing orders. It finds the race in the order in
# which the values are right, too:

# %%
print(block_sums(hasty.kernel, "reverse", check="race")[0].findings[0].text)

# %%
print(f"sequential: {len(block_sums(kernel, check='race')[0].findings)} findings")

# %% [markdown]
# So the order of the questions is: is it right, on sizes that do not fit the tile, with data that differs everywhere? Do the
# checkers stay silent? *Then*: how fast, against which bound, and against what the vendor's library does?
#
# ## What a record holds
# `./ladder record reduction` writes `records/<device>/reduction.json`: raw numbers, what the code was that made them, and with
# which compilers; for a GPU all samples, the clock, temperature and driver as well. One run of it:

# %%
from workbook.records import files, recount

record = files.read(files.path_of(files.FOLDER, "h100", "reduction"))
runs = {run["step"]: run for run in record["runs"]}
before = runs["reduction/sequential"]
print({field: record[field] for field in ("device", "kind", "model", "method")})
print({field: before[field] for field in ("step", "case", "time_ns", "sampled")})
print(f"{len(before['counters'])} counters, {len(before['launches'])} launches")

# %% [markdown]
# GB/s and speedups are not in it: figures are derived when shown.

# %%
notebook.table(notebook.recorded("reduction", ["interleaved", "strided_index", "sequential", "first_add"]))

# %% [markdown]
# ## A regression, found without a clock
# `./ladder record --check` counts again and compares with `==`. Say somebody tidies up `sequential`, and its loop becomes the
# one of `strided_index` again, with strides of 1, 2, 4 … for 128, 64, 32 … All tests of values pass. The answer begins with the
# modelled time. By how many percent is it slower?

# %%
predicted = ...  # percent
after = runs["reduction/strided_index"]  # what it would count then is on file
notebook.compare("percent slower", predicted, 100 * (after["time_ns"] / before["time_ns"] - 1), tag="modelled")

# %% [markdown]
# What the command would print, made in memory from the two runs of the record:

# %%
counted_now = {**after, "step": before["step"]}
for trouble in recount.troubles({**record, "runs": [before]}, [counted_now], ["reduction"]):
    print(trouble)

# %% [markdown]
# A clock says at best that it is slower. The counters say why: bank conflicts, from none to millions. And they are exact: *one*
# more is a change, found on any machine, without a GPU and without noise. (`stale: the code changed` stands below a real one.)
#
# ## On your own
# - Put `time.sleep(0.01)` between two events, around a launch. What do they say here, and what would they say on a GPU?
# - Take the noise's interruptions away. Is the mean good enough then? What if B is only 0.3 % faster?
# - Take another barrier out of `sequential`, into a kernel of your own. Which places does the checker name?
# - Break a step of the matmul ladder so that it gets faster, and let `./ladder climb matmul --step tiled` judge it.
#
# This is the last notebook. `./ladder exercise` has more work for you; `./ladder list` shows all ladders.
