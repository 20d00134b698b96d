# %% [markdown]
# # Reductions and shuffles
#
# - **You will do:** climb from a diverging tree to one atomic per block, follow values through shuffles, catch a race that
# computes the right sum, and find out whose total changes from run to run.
# - **You will learn:** how threads combine what they have, what each way costs, and when it stops to matter.
# - **You need:** [matmul: registers, vectors, warps](40_matmul_registers_vectors_warps.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# A sum over $n$ values needs $n - 1$ additions, and each thread sees a few values only. Sooner or later threads must hand each
# other what they have. All of this notebook is about that handing over; the additions are the smallest part of it.
#
# ## A tree
# 256 threads put 256 values into shared memory. Then every second one adds its right neighbour, every fourth the one two
# further on, and so on: eight levels, with a barrier after each.

# %%
notebook.show("reduction/interleaved")

# %% [markdown]
# When `if` sends some lanes of a warp one way and some the other, the warp **diverges**: it runs the branch with a part of its
# lanes. A block has 8 warps and 8 levels, and there is one more `if` at the end. How often, per block, does a warp diverge?
# (Level 1: threads 0, 2, 4 … add, so all 8 warps are split. At which level does a whole warp do nothing for the first time?)

# %%
predicted = ...  # divergent branches of one block

# %%
from simt.observe import names

N = 16384
LAUNCHED = 64 + 1  # blocks: 64 for the values, one for the 64 sums that they leave
STEPS = ("interleaved", "strided_index", "sequential", "first_add", "shuffle_tail", "shuffle", "many_per_thread",
         "vectorised", "two_pass")
runs = {step: notebook.run(f"reduction/{step}", n=N) for step in STEPS}


def counted(step, name):
    return runs[step].counters[name]


assert all(ran.correct for ran in runs.values())
notebook.compare("divergent branches per block", predicted, counted("interleaved", names.DIVERGENT_BRANCHES) / LAUNCHED)

# %% [markdown]
# On five levels all 8 warps are split: there, 2, 4, 8, 16 or 32 threads apart, every warp has somebody who adds. Then 4, 2 and
# 1 warps, and the one whose thread 0 stores: $5 \cdot 8 + 4 + 2 + 1 + 1$. And each of these warps issues the addition for
# all of its lanes, however few want it.
#
# ## Let neighbours work
# Nobody says that thread $t$ has to add at cell $t$. If the first 128 threads take the 128 pairs, whole warps have nothing to
# do from the first level on.

# %%
notebook.changes("reduction/strided_index")

# %%
predicted = ...  # divergent branches of one block, strided_index
notebook.compare("divergent branches per block", predicted, counted("strided_index", names.DIVERGENT_BRANCHES) / LAUNCHED)

# %% [markdown]
# But look where the cells lie now. On the third level thread $t$ wants cell $8t$. A bank serves one word at a time, and word
# $w$ is in bank $w \bmod 32$. How many wavefronts for the 32 lanes of warp 0?

# %%
import numpy as np
from numba import cuda, float32


@cuda.jit
def level(out, stride):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    left = 2 * stride * t
    if left < 256:
        out[t] = tile[left]  # one of the two loads of a level


out = cuda.device_array(256, np.float32)
predicted = ...  # wavefronts of the load on the third level
third = notebook.count(lambda: level[1, 256](out, 4), "level 3")
notebook.compare("wavefronts", predicted, third.counters[names.SHARED_WAVEFRONTS_LD])

# %%
notebook.bank_grid(third)

# %% [markdown]
# Four banks have all the work. Now one access of each level; warps that load are counted beside:

# %%
levels = [notebook.count(lambda: level[1, 256](out, stride)).counters for stride in 2 ** np.arange(8)]  # noqa: B023 (at once)
for what, name in (("wavefronts by level:", names.SHARED_WAVEFRONTS_LD), ("warps that load:    ", names.SHARED_REQUESTS_LD)):
    numbers = [counters[name] for counters in levels]
    print(what, numbers, "in all", sum(numbers))

# %% [markdown]
# 35 wavefronts more than there are warps that ask, for each of three accesses (two loads, a store). How many bank conflicts
# will the profiler have found in all 65 blocks?

# %%
predicted = ...  # bank conflicts of strided_index, all blocks
notebook.compare("bank conflicts", predicted, runs["strided_index"].bank_conflicts)

# %% [markdown]
# ## Let neighbours read neighbours
# Turn the tree around: first the upper half of the tile is added to the lower half, then the upper half of what is left, and
# so on.

# %%
notebook.changes("reduction/sequential")

# %%
print("step            divergent per block  bank conflicts per block")
for step in ("interleaved", "strided_index", "sequential"):
    parted = counted(step, names.DIVERGENT_BRANCHES) / LAUNCHED
    print(f"{step:14}  {parted:19g}  {runs[step].bank_conflicts / LAUNCHED:24g}")

# %%
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap


def adds(step, stride, threads):
    """Which threads add on the level of that stride, as the three kernels say it."""
    if step == "interleaved":
        return threads % (2 * stride) == 0
    return threads < (128 // stride if step == "strided_index" else stride)


threads = np.arange(256)
figure, panels = plt.subplots(1, 3, figsize=(11, 2.4), sharey=True, layout="constrained")
for axes, step in zip(panels, ("interleaved", "strided_index", "sequential"), strict=True):
    strides = [128, 64, 32, 16, 8, 4, 2, 1] if step == "sequential" else [1, 2, 4, 8, 16, 32, 64, 128]
    busy = np.array([adds(step, stride, threads) for stride in strides])
    dragged = np.repeat(busy.reshape(8, 8, 32).any(axis=2), 32, axis=1)
    axes.imshow(busy.astype(int) + dragged, cmap=ListedColormap(["#eeeeee", "#E69F00", "#0072B2"]), aspect="auto",
                interpolation="nearest")
    axes.set_xticks(range(0, 257, 64))
    axes.set_yticks(range(8), [str(n) for n in range(1, 9)])
    axes.set_title(step)
    axes.set_xlabel("thread")
panels[0].set_ylabel("level")
figure.suptitle("blue: adds; orange: goes along with its warp; grey: its warp skips the level", fontsize=9)
plt.close(figure)
figure

# %% [markdown]
# The last two have the same picture: they differ in *where* the threads read, not in who adds. And both leave most of the
# block idle: already on the first level half of the threads only wait. `first_add` lets each thread add two values while it
# loads them. What is left of the barriers? Every warp arrives at 9 of them in each block, one after the load and one per
# level:

# %%
print(f"sequential: {counted('sequential', names.BARRIERS):,} arrivals, in {LAUNCHED} blocks of 8 warps")

# %%
predicted = ...  # arrivals of warps at barriers, first_add, in 33 blocks
notebook.compare("arrivals at barriers", predicted, counted("first_add", names.BARRIERS))

# %% [markdown]
# ## The last 32 values
# From 32 values down, one warp is left. "A warp runs in step anyway", said the books until 2017, so leave out its barriers.
# Here is that kernel; it is on no ladder:

# %%
from kernels.reduction.traps import warp_synchronous

notebook.show(warp_synchronous.kernel)

# %%
x = cuda.to_device(np.arange(512, dtype=np.float32))
total = cuda.device_array(1, np.float32)
trap = notebook.count(lambda: warp_synchronous.kernel[1, 256](x, total), "trap", check="race")
print(f"sum {total.copy_to_host()[0]:g}, and it should be {511 * 512 / 2:g}")

# %% [markdown]
# Right. But is it? In the round of stride 16, thread 0 adds `tile[16]`. Somebody wrote that cell in the round before, and no
# barrier says that this has happened. Which thread?

# %%
import re

predicted = ...  # the thread whose store thread 0 ought to wait for
writer = int(re.search(r"thread \((\d+), 0, 0\) writes", trap.findings[0].text).group(1))
notebook.compare("thread", predicted, writer, tag="the race checker says")

# %%
print(trap.findings[0].text)

# %% [markdown]
# Since Volta the lanes of a warp have their own program counters and need not run in step. Here they happen to, and so they
# may on your GPU, today, with this compiler. Nothing promises it. A test of values cannot see that; the checker asks what
# orders the two accesses, and the answer is: nothing.
#
# ## Shuffles
# What a warp needs is an instruction that hands values from lane to lane *and* waits for them. `shfl_down_sync(mask, value,
# d)` gives each lane the value of the lane $d$ further on. Lane $l$ begins with the value $l$, and $d = 16$. What does lane 4
# get? And lane 20?

# %%
lane_4, lane_20 = ..., ...  # values that these lanes get

# %%
ALL_LANES = 0xFFFFFFFF


@cuda.jit
def shuffled(values):
    # values (6, 32): what each lane has at the start, and after each of the five additions
    lane = cuda.threadIdx.x
    value = values[0, lane]
    for level, distance in enumerate((16, 8, 4, 2, 1)):
        value += cuda.shfl_down_sync(ALL_LANES, value, distance)
        values[level + 1, lane] = value


def climbed(start):
    """What each lane has, (6, 32), when it begins with start (32)."""
    rows = np.zeros((6, 32), np.float32)
    rows[0] = start
    values = cuda.to_device(rows)
    shuffled[1, 32](values)
    return values.copy_to_host()


seen = climbed(np.arange(32))
notebook.compare("lane 4 gets", lane_4, seen[1, 4] - seen[0, 4])
notebook.compare("lane 20 gets", lane_20, seen[1, 20] - seen[0, 20])

# %% [markdown]
# There is no lane 36: lane 20 gets its own value back, and what it has afterwards is of no use. That is fine, as nobody asks
# for it. The five additions, with the values that the lanes had:

# %%
figure, axes = plt.subplots(figsize=(9.5, 3), layout="constrained")
reach = 32
for row in range(6):
    axes.scatter(range(reach), [row] * reach, s=130, color="#0072B2")
    for lane in range(32):
        colour = "white" if lane < reach else "#999999"
        axes.text(lane, row, f"{seen[row, lane]:g}", ha="center", va="center", fontsize=6, color=colour)
    reach //= 2
    for lane in range(reach if row < 5 else 0):
        axes.plot([lane + reach, lane], [row + 0.25, row + 0.75], color="#D55E00", linewidth=0.7)
axes.set_xlim(-0.7, 31.7)
axes.set_ylim(5.4, -0.5)
axes.set_xticks(range(0, 32, 4))
axes.set_xlabel("lane")
axes.set_yticks(range(6), ["start", "16 further on", "8", "4", "2", "1"])
axes.set_title("shfl_down: the sum of 32 lanes arrives in lane 0; grey values: nobody asks for them")
plt.close(figure)
figure

# %% [markdown]
# Somebody tests this kernel with ones: every lane begins with 1, and the test looks at one lane. In how many of the 32 lanes
# would it find a 32?

# %%
predicted = ...  # lanes that end with 32, when all begin with 1
notebook.compare("lanes with 32", predicted, int((climbed(np.ones(32))[5] == 32).sum()))

# %%
print("lanes with 32, from ones:", int((climbed(np.ones(32))[5] == 32).sum()))
print("from 0, 1, 2 … lanes 0, 1, 15 and 31 end with", [f"{seen[5, lane]:g}" for lane in (0, 1, 15, 31)])

# %% [markdown]
# All of them: ones double five times, right or wrong. Test with numbers that differ. (With `shfl_xor_sync` partners swap, and
# every lane does end with the sum.)
#
# A shuffle waits for the lanes that its mask names. What if half of them are elsewhere?

# %%
@cuda.jit
def in_a_branch(out):
    lane = cuda.threadIdx.x
    value = float32(lane)
    if lane < 16:
        value += cuda.shfl_down_sync(ALL_LANES, value, 8)
    out[lane] = value


with notebook.failing():
    in_a_branch[1, 32](cuda.device_array(32, np.float32))
    cuda.synchronize()

# %% [markdown]
# ## On the ladder
# `shuffle_tail` runs the tree down to 32 values, and lets one warp do the rest with shuffles. At how many barriers does each
# warp of a block arrive, where `first_add` has 9?

# %%
predicted = ...  # barriers of each warp of a block, shuffle_tail
notebook.compare("barriers per warp and block", predicted, counted("shuffle_tail", names.BARRIERS) / (33 * 8))

# %%
notebook.changes("reduction/shuffle_tail")

# %% [markdown]
# Then why a tree at all? Every warp can add its 32 values by shuffles; 8 sums are left, which the first warp adds the same
# way. And instead of launching again over the blocks' sums, each block adds its own to the total by one **atomic**. How many
# shuffles does a block issue?

# %%
notebook.show("reduction/shuffle")

# %%
BLOCKS = N // 512
predicted = ...  # shuffles (instructions of warps) of one block
notebook.compare("shuffles per block", predicted, counted("shuffle", names.instructions("warp")) / BLOCKS)

# %%
print("step             barriers  shared loads  shuffles  atomics  PTX instructions")
for step in STEPS[2:7]:
    cells = [counted(step, name) for name in (names.BARRIERS, names.SHARED_REQUESTS_LD, names.instructions("warp"),
                                              names.ATOMICS_GLOBAL, names.INSTRUCTIONS)]
    print(f"{step:15}  {cells[0]:8,}  {cells[1]:12,}  {cells[2]:8,}  {cells[3]:7}  {cells[4]:16,}")

# %% [markdown]
# One atomic per block. What if every thread had one, and there were no tree and no shuffles?

# %%
@cuda.jit
def everybody(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


predicted = ...  # how often the one address is updated, one after the other
values = cuda.to_device(np.ones(N, np.float32))
crowd = notebook.count(lambda: everybody[N // 256, 256](values, cuda.to_device(np.zeros(1, np.float32))), "everybody")
notebook.compare("updates of one address", predicted, crowd.counters[names.ATOMIC_HOTTEST])

# %%
print(f"{crowd.counters[names.ATOMIC_HOTTEST]:,} updates of one address")
print(f"atomics take {crowd.launches[0].terms['atomics'] / 1000:.1f} us of {crowd.time_ns / 1000:.1f} us, modelled")

# %% [markdown]
# Updates of one address take turns, whoever makes them. `many_per_thread` goes the other way: each thread adds 32 values in a
# register first, so that there is a sixteenth of the blocks, and of all that blocks cost.
#
# ## The same sum, other bits
# Additions of floats round, and so their order shows. Who decides the order of the blocks' atomics? Nobody. Here is one
# sum of 200,003 values, by three steps, with the blocks in three orders. Each of the orders is one that a GPU may choose.
# `two_pass` has no atomics: blocks store their sums, and one block adds those. How many different totals will each step have?

# %%
atomic_predicted, two_pass_predicted = ..., ...  # different totals: vectorised, two_pass

# %%
import os

from kernels.case import Case
from kernels.reduction import LADDER

CASE = Case(n=200_003)
inputs = LADDER.make(CASE, np.random.default_rng(1))
exact = inputs["x"].sum(dtype=np.float64)


def total_of(name, order):
    """The step's total as float32. `order`: of blocks and warps, on the emulated device; a GPU has its own."""
    os.environ["SIMT_SCHEDULE"], os.environ["SIMT_THREADS"] = order, "1"
    step = LADDER.step(name)
    layout = LADDER.outputs(CASE, inputs) | step.scratch(CASE, inputs)
    buffers = {"x": cuda.to_device(inputs["x"])} | {key: cuda.device_array(*of) for key, of in layout.items()}
    step.run(buffers)
    return buffers["total"].copy_to_host()[0]


found = {}
for name in ("shuffle", "vectorised", "two_pass"):
    totals = [total_of(name, order) for order in ("forward", "reverse", "7")]  # 7 seeds a random order
    found[name] = totals
os.environ["SIMT_SCHEDULE"] = "forward"
del os.environ["SIMT_THREADS"]
different = {name: len(set(totals)) for name, totals in found.items()}
notebook.compare("different totals, vectorised", atomic_predicted, different["vectorised"])
notebook.compare("different totals, two_pass", two_pass_predicted, different["two_pass"])

# %%
for name, totals in found.items():
    print(f"{name:10}", *(f"{total:.5f} ({total.view(np.uint32):08x})" for total in totals), sep="   ")
print(f"exactly    {exact:.6f}")

# %% [markdown]
# None of them is wrong: all lie within the tolerance that `kernels/reduction` states, with its source. But a test that
# compares bits, a training run that must be repeated, a search for the change that broke something: they need `two_pass`. Sums
# of integers, and maxima, do not care: there, every order gives the same.
#
# `argmax` uses that. It shuffles pairs of value and index, and its last rung packs a pair into 64 bits so that an atomic
# maximum can choose: an atomic, and the same in every order. The lowest index wins among equals, and a NaN before all:

# %%
for kind in ("integers", "nan"):
    found = notebook.run("argmax/packed_atomic", n=40009, kind=kind)
    print(f"{kind:8}: index {found.outputs['index'][0]}, right: {found.correct}")

# %% [markdown]
# ## Where it stops to matter
# 16.8 million values: 64 MiB, each read once. At the 3,350 GB/s of this device, how many microseconds does that take at least?

# %%
import simt

BYTES = 4 * LADDER.timed_case["n"]
assert BYTES == 64 * 2**20 and simt.device().dram_gb_per_s == 3350
floor_us = BYTES / (simt.device().dram_gb_per_s * 1e3)
predicted = ...  # microseconds
notebook.compare("shortest possible, us", predicted, floor_us, tag="it is")

# %% [markdown]
# `vectorised` has a quarter of the load requests of `many_per_thread`:

# %%
print(f"{counted('many_per_thread', names.GLOBAL_REQUESTS_LD)} load requests, then "
      f"{counted('vectorised', names.GLOBAL_REQUESTS_LD)}")

# %%
predicted = ...  # speedup from many_per_thread to vectorised
times = notebook.time("reduction", STEPS)
notebook.compare("speedup", predicted, times["many_per_thread"].time_ns / times["vectorised"].time_ns, tag=times.kind)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), sharey=True, layout="constrained")
left.barh(STEPS, [row.time_ns / 1000 for row in times], color="#0072B2")
left.axvline(floor_us, color="#D55E00", label="every byte once, at full rate")
left.set_xlabel(f"{times.kind} time, us")
left.legend(frameon=False, fontsize=8)
instructions = [row.counters[names.INSTRUCTIONS] / (LADDER.timed_case["n"] / 32) for row in times]
bars = right.barh(STEPS, instructions, color="#009E73")
right.bar_label(bars, fmt=" {:.1f}", fontsize=8)
right.set_xlabel("PTX instructions of a warp for 32 values")
right.margins(x=0.12)
left.invert_yaxis()
plt.close(figure)
figure

# %%
notebook.table(times)

# %% [markdown]
# The instructions fall from rung to rung, but for `shuffle`, in which all warps shuffle and which pays with them for barriers
# and launches. The time follows as long as instructions and barriers were what one waited for. Once the memory is the limit,
# see *bound by*, no shuffle and no wider load makes it faster: the column *x row above* stays at 1.
#
# On the GPU for which this ladder was invented it was another story. M. Harris's slides (*Optimizing Parallel Reduction in
# CUDA*) give, for $2^{22}$ ints on a G80: 8.054, 3.456, 1.722, 0.965, 0.536, 0.381, 0.268 ms. There every rung paid, thirty
# times in all. Arithmetic has grown much more than bandwidth since. Where the memory is the limit, show counters, stop, and
# look for fewer bytes: fuse the sum into the kernel that makes the values, or store them in fewer bits. That is the next
# notebook.
#
# ## On your own
# - Give `level` 512 threads' worth of cells, or a tile of `float64`. How do the wavefronts change?
# - Write the sum of a warp with `shfl_xor_sync`. How many shuffles more does it take? Who has the sum?
# - `block_sum` twice in a row with the same `sums` is a race, says its docstring. Try it, with `check="race"`.
# - `./ladder exercise check reduction/strided_index`, then `reduction/sequential`, `reduction/first_add`,
#   `reduction/shuffle_tail`, `reduction/shuffle`, `reduction/many_per_thread`, `reduction/two_pass`, `reduction/argmax`.
#
# Next: [quantised ops](60_quantised_ops.ipynb).
