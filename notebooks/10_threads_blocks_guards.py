# %% [markdown]
# # Threads, blocks, guards
#
# - **You will do:** number threads by hand, launch too few and too many of them, swap two axes, and watch arrays travel.
# - **You will learn:** which thread does which cell, what a block is in warps, and what a launch does not tell you.
# - **You need:** [start here](00_start_here.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Who am I?
# A launch `kernel[blocks, threads]` runs the function once for each thread of each block. Every thread runs the same code; the
# only thing that differs is what it finds in `threadIdx` and `blockIdx`. `cuda.grid(1)` puts both together into one number:
# `blockIdx.x * blockDim.x + threadIdx.x`.
#
# This kernel writes into each cell who was there. Three blocks of four threads, ten cells: what does `out[7]` hold?

# %%
import numpy as np
from numba import cuda


@cuda.jit
def where(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 100 * cuda.blockIdx.x + cuda.threadIdx.x


predicted = ...  # out[7]: write a number

# %%
out = cuda.device_array(10, np.int32)
where[3, 4](out)
found = out.copy_to_host()
notebook.compare("out[7]", predicted, int(found[7]), tag="it is")

# %%
found

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(9, 1.7), layout="constrained")
for i in range(12):
    colour = ("#0072B2", "#E69F00", "#009E73")[i // 4] if i < 10 else "#DDDDDD"
    axes.add_patch(plt.Rectangle((i, 0), 0.94, 1, facecolor=colour))
    axes.text(i + 0.47, 0.5, f"block {i // 4}\nthread {i % 4}", ha="center", va="center", fontsize=8)
axes.set_xlim(0, 12)
axes.set_xticks(np.arange(12) + 0.47, range(12))
axes.set_yticks([])
axes.set_xlabel("i = cuda.grid(1); grey: the guard sends the thread home")
axes.set_title("3 blocks of 4 threads over 10 cells")
plt.close(figure)
figure

# %% [markdown]
# ## The guard
# Sizes are rarely multiples of the block. So one launches enough blocks to cover all cells, rounded *up*, and threads without
# a cell must do nothing: `if i < out.size`. That is the guard.
#
# A hundred cells, blocks of 32 threads. How many threads of the launch have nothing to do?

# %%
from simt.observe import names

predicted = ...  # threads without a cell

# %%
n, threads = 100, 32
blocks = -(-n // threads)  # rounded up; the ladders call this ceil_div
out = cuda.device_array(n, np.int32)
ran = notebook.count(lambda: where[blocks, threads](out), "where")
stored = ran.counters[names.GLOBAL_BYTES_REQUESTED_ST] // 4
notebook.compare("threads without a cell", predicted, blocks * threads - stored)

# %% [markdown]
# Round *down*, and nothing complains: the last cells simply keep what they held.

# %%
out = cuda.to_device(np.full(n, -1, np.int32))
where[n // threads, threads](out)
np.flatnonzero(out.copy_to_host() == -1)

# %% [markdown]
# The opposite mistake is a guard that lets one thread too many through:

# %%
@cuda.jit
def off_by_one(out):
    i = cuda.grid(1)
    if i <= out.size:
        out[i] = i


with notebook.failing():
    off_by_one[blocks, threads](out)

# %% [markdown]
# On a GPU this store may well hit memory that belongs to somebody else, and the program goes on. Allocations there are
# padded, so "it ran" proves little about a guard. Test with sizes that are no multiple of the block, and look at the cells
# behind the end.
#
# ## A block is made of warps
# The hardware does not run single threads but **warps** of 32. A block is cut into warps in the order of its threads, x first,
# then y, then z. An instruction of a warp that is not full takes its turn like that of a full one.
#
# A block of 33 threads runs `where`. How many threads take part in an instruction, on average over its warps?

# %%
predicted = ...  # threads per warp instruction

# %%
out = cuda.device_array(33, np.int32)
ran = notebook.count(lambda: where[1, 33](out), "where")
taking_part = ran.counters[names.THREAD_INSTRUCTIONS] / ran.counters[names.INSTRUCTIONS]
notebook.compare("threads per warp instruction", predicted, taking_part)

# %% [markdown]
# Two warps issue the same instructions; the second has one thread in it, and 31 lanes idle. Nearly half of what the block pays
# for is thrown away. Block sizes are multiples of 32 for that reason.
#
# Blocks of two dimensions are cut the same way. Below, three blocks of 256 threads write the number of their warp. How many
# *rows* does a warp of the block (16, 16) cover?

# %%
@cuda.jit
def warp_of(out, in_order):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    number = y * cuda.blockDim.x + x
    out[y, x] = number // 32
    in_order[y, x] = number % 32 == cuda.laneid  # the device's own word for the place in the warp


predicted = ...  # rows of the block (16, 16) in one warp

# %%
def warps_of(width, height):
    """The warp of each thread (height, width); each thread's place in its warp is what the device itself says it is."""
    warps, in_order = cuda.device_array((height, width), np.int32), cuda.device_array((height, width), np.bool_)
    warp_of[1, (width, height)](warps, in_order)
    assert in_order.copy_to_host().all()
    return warps.copy_to_host()


def rows_of_first(warps):
    return len(np.unique(np.nonzero(warps == 0)[0]))


notebook.compare("rows of the block (16, 16) in one warp", predicted, rows_of_first(warps_of(16, 16)))

# %%
shapes = [(32, 8), (16, 16), (8, 32)]
figure, panels = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", width_ratios=[2, 1.2, 0.8])
for axes, (width, height) in zip(panels, shapes, strict=True):
    warps = warps_of(width, height)
    rows = rows_of_first(warps)
    axes.imshow(warps, cmap="tab10", vmin=0, vmax=9)
    axes.set_title(f"block {(width, height)}: {rows} row{'s' * (rows > 1)} a warp")
    axes.set_xlabel("threadIdx.x")
    axes.set_ylabel("threadIdx.y")
plt.close(figure)
figure

# %% [markdown]
# Each colour is a warp. So a block of (32, 32) is 32 warps, each of them one row of it: its 32 threads have 32 neighbouring x
# and the same y. This is worth remembering, because memory answers warps, not blocks: [the next
# notebook](20_memory_and_coalescing.ipynb) is about nothing else.
#
# ## Two dimensions
# `col, row = cuda.grid(2)` gives x and y. An array is indexed the other way round, `image[row, col]`: x, the fast axis of the
# block, belongs to the last axis of the array. Both axes have an edge, so both need a guard:

# %%
@cuda.jit
def brighten(image):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        image[row, col] += 1

# %% [markdown]
# An image of 70 rows and 100 columns, blocks of (32, 8): which grid? How many blocks are that? And when somebody swaps
# the two numbers of that grid, how many of the 7,000 cells stay untouched?

# %%
blocks_predicted = ...  # blocks of the right grid
untouched_predicted = ...  # cells that the swapped grid leaves alone

# %%
rows, cols, block = 70, 100, (32, 8)
right = (-(-cols // block[0]), -(-rows // block[1]))
swapped = right[::-1]


def touched(grid):
    image = cuda.to_device(np.zeros((rows, cols), np.int32))
    ran = notebook.count(lambda: brighten[grid, block](image), "brighten")
    return ran.launches[0].blocks_total, image.copy_to_host()


blocks_counted, whole = touched(right)
_, partly = touched(swapped)
notebook.compare("blocks", blocks_predicted, blocks_counted)
notebook.compare("cells untouched by the swapped grid", untouched_predicted, int((partly == 0).sum()))

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
for axes, image, grid in zip(panels, (whole, partly), (right, swapped), strict=True):
    axes.imshow(image, cmap="Blues", vmin=0, vmax=1.4)
    axes.set_title(f"grid {grid}: {(image == 0).sum()} cells untouched")
    axes.set_xlabel("column")
    axes.set_ylabel("row")
plt.close(figure)
figure

# %% [markdown]
# The swapped grid runs without a word: its guard keeps the superfluous threads on the right out, and below row 31 nobody ever
# comes. On a square image it would even be right. Test with shapes whose sides differ.
#
# ## Launches that cannot be
# A block has at most 1,024 threads, and each axis has its own limit. Four launches that no device of this kind starts:

# %%
for grid, block in [(1, (32, 33)), (0, 32), ((4, 70_000), 32), (1, (8, 8, 65))]:
    print(f"[{grid}, {block}]")
    with notebook.failing():
        where[grid, block](out)

# %% [markdown]
# Those are loud. This one is not: `where[128 // 32, 32]` is meant, and the two numbers in the brackets are swapped. All 128
# cells come out right, the block numbers aside. How many times as many instructions do its warps execute?

# %%
predicted = ...  # times as many

# %%
out = cuda.device_array(128, np.int32)
meant = notebook.count(lambda: where[4, 32](out), "4 blocks of 32")
turned = notebook.count(lambda: where[32, 4](out), "32 blocks of 4")
ratio = turned.counters[names.INSTRUCTIONS] / meant.counters[names.INSTRUCTIONS]
notebook.compare("warp instructions, times as many", predicted, ratio)

# %% [markdown]
# Four threads in each warp, 28 lanes idle. Correct, and eight times the instructions: the kind of fault that only a counter
# shows.
#
# ## Arrays travel
# A kernel reads and writes memory of the device. Give it a NumPy array, and Numba copies it there before the launch and back
# afterwards; every time, and also arrays that are only read, since it cannot know. It says so, once:

# %%
import warnings


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


host = np.ones(1 << 20, np.float32)
grid, block = host.size // 256, 256
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    double[grid, block](host)
print(said[0].message)
on_device = cuda.to_device(host)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    double[grid, block](on_device)
print(f"with a device array: {len(said)} warnings")

# %% [markdown]
# `host` holds 4 MiB. Ten launches on it: how many MiB cross the bus? And with one `to_device` before them and one
# `copy_to_host` after them?

# %%
by_launch = ...  # MiB, ten launches on the NumPy array
by_hand = ...  # MiB, to_device, ten launches, copy_to_host
mib = host.nbytes / 2**20
notebook.compare("NumPy array, MiB", by_launch, 10 * 2 * mib, tag="it is")
notebook.compare("device array, MiB", by_hand, 2 * mib, tag="it is")

# %%
def elapsed_us(work) -> float:
    """Device time between two events around the work, in microseconds."""
    start, end = cuda.event(), cuda.event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return 1000 * cuda.event_elapsed_time(start, end)


def on_numpy():
    for _ in range(10):
        double[grid, block](host)


def on_the_device():
    x = cuda.to_device(host)
    for _ in range(10):
        double[grid, block](x)
    x.copy_to_host(host)


with warnings.catch_warnings(action="ignore"):
    print(f"NumPy array {elapsed_us(on_numpy):,.0f} us, device array {elapsed_us(on_the_device):,.0f} us")

# %% [markdown]
# These microseconds are modelled, with the rate for the bus that stands in `simt/model/devices/`; a GPU measures its own. The
# kernel is the same in both numbers, so most of what one "measures" on a NumPy array are copies.
#
# ## A launch does not wait
# On a GPU a launch only puts work into a queue, the **stream**, and returns. What is queued runs in order. Copies to the host
# and `cuda.synchronize()` wait. Below nobody synchronises between the launches. What does `x[0]` hold?

# %%
@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


predicted = ...  # x[0]

# %%
x = cuda.to_device(np.zeros(64, np.int32))
for _ in range(3):
    add_one[2, 32](x)
notebook.compare("x[0]", predicted, int(x.copy_to_host()[0]), tag="it is")

# %% [markdown]
# The order in the stream is enough. What the queue does change is where trouble shows: a GPU reports a bad access at some
# later call that waits, and refuses all work afterwards. The emulated device stops at the launch itself.
#
# ## Let Numba choose
# `forall(n)` picks a block size and rounds the number of blocks up. The guard stays yours:

# %%
x = cuda.to_device(np.zeros(100_000, np.int32))
ran = notebook.count(lambda: add_one.forall(x.size)(x), "add_one")
launch = ran.launches[0]
print(f"{launch.grid[0]} blocks of {launch.block[0]}, {launch.grid[0] * launch.block[0] - x.size} threads too many")

# %% [markdown]
# ## On your own
# - Write `cuda.threadIdx.x` instead of `cuda.grid(1)` in `where`, launch `[3, 4]` over ten cells that hold -1, and explain
#   every number. Would ten equal cells in a test have shown it?
# - Which grid covers 70 x 100 cells with blocks of (16, 16)? How many threads are without a cell? Check it by counters.
# - Replace the NumPy array by `cuda.In(host)` in `on_numpy`. What happens to the time, and what to `host`?
# - `./ladder exercise check first/map`, then `first/guard`, `first/blocks`, `first/map_2d`, `first/blocks_2d`,
#   `first/grid_stride`.
#
# Next: [memory and coalescing](20_memory_and_coalescing.ipynb).
