# %% [markdown]
# # Measure like an engineer
#
# - **You will do:** time a kernel with the device's own clock, hold it against a bound, catch a wrong kernel that looks right.
# - **You will learn:** what a number must carry before anyone should believe it.
# - **You need:** [roofline and occupancy](80_roofline_and_occupancy.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Four wrong clocks
# A launch returns before the kernel has run. The first one also compiles. So a clock of the host around a launch measures
# something else than the kernel:
#
# | mistake | what it measures |
# | --- | --- |
# | the first call | Numba, NVVM and the assembler: seconds |
# | a launch without `cuda.synchronize()` | how long it takes to *ask*: microseconds, whatever the kernel does |
# | NumPy arrays as arguments | two copies over the bus, and the kernel somewhere between |
# | one sample | the clock of the GPU on its way up, and what else ran |
#
# The clock to use belongs to the device: two **events**, recorded before and after on the stream of the launch.

# %%
import numpy as np
from numba import cuda


@cuda.jit
def scale(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


n = 1 << 20
x = cuda.to_device(np.arange(n, dtype=np.float32))
out = cuda.device_array_like(x)


def elapsed_us(launches: int) -> float:
    """Device time between two events around so many launches, in microseconds."""
    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(launches):
        scale[n // 256, 256](x, out)
    end.record()
    end.synchronize()
    return 1000 * cuda.event_elapsed_time(start, end)


scale[n // 256, 256](x, out)  # compiles
one, ten = elapsed_us(1), elapsed_us(10)
print(f"one launch {one:.2f} us, ten launches {ten:.2f} us")

# %% [markdown]
# On this device these microseconds are **modelled**: the emulated device's events tell its own clock, never the time that the
# emulation takes. On a GPU the same cell **measures**. That is why the same code can be used on both, and why every table here
# says which it was.
#
# ## Does the number make sense?
# Before you believe a time, hold it against what is possible. This kernel reads and writes each element once. How many
# microseconds would the memory need at its full rate, 3,350 GB/s, for $2 \cdot 4 \cdot 2^{20}$ bytes?

# %%
import simt

device = simt.device()
assert device.dram_gb_per_s == 3350
bound_us = 2 * 4 * n / (device.dram_gb_per_s * 1e3)
predicted = ...  # microseconds
notebook.compare("shortest possible, us", predicted, bound_us, tag="it is")

# %%
print(f"time {one:.2f} us = launch overhead {device.launch_ns / 1e3:.2f} us + the rest; bound {bound_us:.2f} us")

# %% [markdown]
# A time *below* the bound means that the clock is wrong, or the work was not done. A time far above it means there is
# something to find. Much of this one is launch overhead: a kernel this small is bound by being launched. Give it more work, or
# fuse it.
#
# ## The data was in the cache
# Run a benchmark in a loop, and from the second round on the data may come from L2: 50 MiB here. Real programs have touched
# other things in between. `./ladder record` on a GPU therefore writes over L2 before each sample, takes at least 30 samples,
# and keeps them all: medians can be computed later, lost samples cannot.
#
# ## A fast wrong kernel
# Which of these two sums is better? Times first, as people do:

# %%
from numba import float32


@cuda.jit
def tree(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if t < stride:
            tile[t] += tile[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit
def hasty(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if t < stride:
            tile[t] += tile[t + stride]
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


BLOCKS = 2048


def sums(kernel, check=""):
    """The run, and how far its block sums are from NumPy's."""
    found = cuda.device_array(BLOCKS, np.float32)
    ones = cuda.to_device(np.arange(BLOCKS * 256, dtype=np.float32) % 7)
    ran = notebook.count(lambda: kernel[BLOCKS, 256](ones, found), kernel.py_func.__name__, check)
    return ran, np.abs(found.copy_to_host() - ones.copy_to_host().reshape(BLOCKS, 256).sum(axis=1)).max()


for kernel in (tree, hasty):
    ran, error = sums(kernel)
    print(f"{ran.name:5}  {ran.time_ns:.0f} ns modelled, largest error {error:g}")

# %% [markdown]
# The hasty one has no barrier in its loop: a step less to wait for. Whether its numbers come out right depends on the order in
# which warps happen to run. A test of values on one machine may pass for years. Ask the race checker instead: it does not look
# at values, but at which accesses nothing orders.

# %%
ran, _ = sums(hasty, check="race")
print(ran.findings[0].text)

# %%
ran, _ = sums(tree, check="race")
print(f"{len(ran.findings)} findings")

# %% [markdown]
# So the order of the questions is: is it right, on sizes that do not fit the tile, with data that differs everywhere? Do the
# checkers stay silent? *Then*: how fast, against which bound, and against what the vendor's library does?
#
# ## What a record holds
# `./ladder record matmul` writes `records/<device>/matmul.json`: raw numbers, the fingerprint of the code that made them, the
# versions of the compilers, and for a GPU the clock, temperature and driver. Figures such as GB/s are derived when shown.
# `./ladder record --check` counts again and compares with `==`: a counter that moved is a regression, found without a GPU and
# without noise.
#
# ## On your own
# - Put a `time.perf_counter()` around a launch with and without `cuda.synchronize()`. What does each of them measure *here*?
# - Take the barrier out of another place of `tree`. Which places does the checker name?
# - Break a step of the matmul ladder so that it gets faster, and let `./ladder climb matmul --step tiled` judge it.
#
# This is the last notebook. `./ladder exercise` has more work for you; `./ladder list` shows all ladders.
