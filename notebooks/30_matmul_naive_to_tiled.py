# %% [markdown]
# # Matmul: naive to tiled
#
# - **You will do:** count a matmul's work by hand, climb the first three rungs, take barriers away, cause bank conflicts.
# - **You will learn:** how sharing saves traffic, what shared memory demands in return, how to find the next bottleneck.
# - **You need:** [memory and coalescing](20_memory_and_coalescing.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## What has to be done
# `C = A @ B` with `m = n = k = 128`, float32. Each of the 128 x 128 cells of C is a sum of 128 products. A multiplication and
# an addition are 2 FLOP. How many FLOP is that? And how many bytes must be read at the very least, if each element of A and B
# is fetched once?

# %%
flops = ...  # FLOP
least_bytes = ...  # bytes of A and B together

# %%
from simt.observe import names

SIZES = {"m": 128, "n": 128, "k": 128}
naive = notebook.run("matmul/naive", **SIZES)
notebook.compare("FLOP", flops, naive.counters[names.FLOPS_FP32])
notebook.compare("bytes of A and B", least_bytes, naive.counters[names.FOOTPRINT_BYTES_LD])

# %% [markdown]
# And what does the first rung ask for? Each thread computes one cell, and loads a row of A and a column of B for it:

# %%
notebook.show("matmul/naive")

# %% [markdown]
# How many times does the launch ask for each byte of A and B?

# %%
predicted = ...  # times

# %%
asked = naive.counters[names.GLOBAL_BYTES_REQUESTED_LD]
notebook.compare("times that each byte is asked for", predicted, asked / naive.counters[names.FOOTPRINT_BYTES_LD])

# %%
print(f"{asked:,} bytes asked for")

# %% [markdown]
# That number *is* the matmul problem. Every value of A is needed for 128 cells of C, every value of B too. There is enough
# arithmetic for each byte to keep any device busy, if a byte, once fetched, is used often. All rungs do the same FLOP; they
# differ in how often they ask for what they have had already, and whom they ask.
#
# ## Rung 2: who stands next to whom
# You know this one from the first notebook: neighbouring threads take neighbouring columns instead of rows.

# %%
notebook.changes("matmul/coalesced")

# %% [markdown]
# 512 warps, 128 rounds, two loads in each. Before: 32 sectors for A, 1 for B. After? Predict the sectors of all loads
# together:

# %%
predicted = ...  # sectors of all load requests of the second rung

# %%
coalesced = notebook.run("matmul/coalesced", **SIZES)
notebook.compare("sectors, all loads", predicted, coalesced.counters[names.GLOBAL_SECTORS_LD])

# %%
for ran in (naive, coalesced):
    requests, sectors = ran.counters[names.GLOBAL_REQUESTS_LD], ran.counters[names.GLOBAL_SECTORS_LD]
    print(f"{ran.name:16}  right: {ran.correct}  {requests:,} load requests, {sectors:9,} sectors")
print(f"{naive.counters[names.GLOBAL_SECTORS_LD] / coalesced.counters[names.GLOBAL_SECTORS_LD]:.1f} times fewer sectors")

# %% [markdown]
# 6.6 times fewer sectors, and not one request less. What does a warp do, then, between its multiply-adds?

# %%
notebook.instruction_mix(coalesced)

# %%
multiply_adds, all_of_them = coalesced.counters[names.instructions("fp32")], coalesced.counters[names.INSTRUCTIONS]
print(f"{multiply_adds:,} of {all_of_them:,} instructions are multiply-adds: {100 * multiply_adds / all_of_them:.1f} %")

# %% [markdown]
# The picture counts machine instructions (SASS), *estimated*: how often each piece of the kernel ran, times what the
# assembler made of it. The share below it is of PTX, counted. Either way the multiply-adds nearly drown: two loads for each,
# and around them the arithmetic of indices. Numba computes addresses in 64 bits, in every round, and provides for negative
# indices. Better code could save much of that, but no compiler makes the loads go away. To need fewer of them, threads must
# share.
#
# ## Rung 3: a tile for the whole block
# The 32 x 32 threads of a block need 32 rows of A and 32 columns of B between them. So the block walks along k in steps of
# 32. In each step, every thread loads *one* value of A and one of B into **shared memory**, and all threads of the block use
# them all:

# %%
notebook.show("matmul/tiled")

# %% [markdown]
# How many *global* load requests do its 512 warps need, with k = 128? And how many loads from shared memory?

# %%
global_predicted = ...  # global load requests
shared_predicted = ...  # shared load requests

# %%
tiled = notebook.run("matmul/tiled", **SIZES)
notebook.compare("global load requests", global_predicted, tiled.counters[names.GLOBAL_REQUESTS_LD])
notebook.compare("shared load requests", shared_predicted, tiled.counters[names.SHARED_REQUESTS_LD])

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
runs = (tiled, coalesced, naive)
axes.barh([ran.name for ran in runs], [ran.counters[names.GLOBAL_SECTORS_LD] for ran in runs], color="#0072B2")
least = naive.counters[names.FOOTPRINT_BYTES_LD] // 32
axes.axvline(least, color="#D55E00")
axes.annotate(" each sector once", (least, 2.6), color="#D55E00", va="center")
axes.set_ylim(-0.5, 2.9)
axes.set_xscale("log")
axes.set_xlabel("sectors of global loads, log scale")
plt.close(figure)
figure

# %% [markdown]
# A 32nd of the global requests. The loads did not vanish: there are exactly as many as before, only now from shared memory,
# which lies in the SM. Each block still fetches its own copy of the tiles: 4 x 4 blocks, so everything is read four times.
#
# ## What holds the tile together
# A tile is written by all threads and read by all, and threads do not run in step. Two barriers keep the order: the first so
# that nobody reads a tile that is not complete, the second so that nobody overwrites one that others still read. Take
# them out and see. Here is a small tiled matmul, without edges, in which each can be left out:

# %%
import numpy as np
from numba import cuda, float32


def tiled_with(side, first=True, second=True):
    """A kernel for tiles of side x side, with or without its barriers."""

    @cuda.jit
    def kernel(a, b, c):
        tile_a = cuda.shared.array((side, side), float32)
        tile_b = cuda.shared.array((side, side), float32)
        col, row = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for k0 in range(0, a.shape[1], side):
            tile_a[y, x] = a[row, k0 + x]
            tile_b[y, x] = b[k0 + y, col]
            if first:
                cuda.syncthreads()
            for i in range(side):
                total += tile_a[y, i] * tile_b[i, x]
            if second:
                cuda.syncthreads()
        c[row, col] = total

    return kernel


rng = np.random.default_rng(1)
a, b = (rng.integers(-8, 9, (24, 24)).astype(np.float32) for _ in "ab")
on_device = cuda.to_device(a), cuda.to_device(b)


def tried(side, **barriers):
    """(wrong cells of 576, findings of the race checker)"""
    kernel, c = tiled_with(side, **barriers), cuda.device_array((24, 24), np.float32)
    grid = 24 // side, 24 // side
    ran = notebook.count(lambda: kernel[grid, (side, side)](*on_device, c), f"tiles of {side}", check="race")
    return int((c.copy_to_host() != a @ b).sum()), ran.findings


for barriers, without in (("both", {}), ("without the first", {"first": False}), ("without the second", {"second": False})):
    wrong, findings = tried(8, **without)
    print(f"tiles of 8, barriers {barriers}: {wrong} of 576 cells wrong, {len(findings)} findings")

# %% [markdown]
# With tiles of 8, a block has 64 threads: two warps. Each barrier matters, and the numbers show it. Now tiles of 4: 16
# threads, half a warp. Will the version without its second barrier give wrong numbers?

# %%
predicted = ...  # wrong cells, of 576

# %%
wrong, findings = tried(4, second=False)
notebook.compare("wrong cells", predicted, wrong)

# %%
print(f"{wrong} wrong cells, {len(findings)} findings")
print(findings[0].text)
print("what to do:", findings[0].advice)

# %% [markdown]
# Every number is right, and the kernel is wrong. Here one warp ran in step, as it often does on a GPU too, and no test of
# values can tell. Nothing in the program says that it must: since Volta, the threads of a warp may part and come back when
# they like. A checker that asks *what orders these two accesses?* finds it on any input. That is why `./ladder exercise check`
# runs it on your kernels.
#
# The other way to get barriers wrong is to leave before one. "No cell of C for me, so I return" is a natural guard:

# %%
@cuda.jit
def leaves_early(a, out):
    tile = cuda.shared.array((8, 8), float32)
    col, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if row >= out.shape[0] or col >= out.shape[1]:
        return
    tile[y, x] = a[row, col]
    cuda.syncthreads()
    out[row, col] = tile[y, 7 - x]


out = cuda.device_array((20, 20), np.float32)
ran = notebook.count(lambda: leaves_early[(3, 3), (8, 8)](on_device[0], out), "leaves_early", check="sync,init")
for finding in ran.findings:
    print(f"{finding.kind}: {finding.text}\n  {finding.advice}")

# %% [markdown]
# Two faults in one: a barrier that some threads never reach, and tile cells which nobody filled. Look again at how
# `matmul/tiled` does it: all threads load, zeros where there is nothing; all wait; only the *store* is guarded.
#
# ## Banks
# Shared memory has 32 **banks**, each 4 bytes wide; word number w lies in bank w % 32. In one **wavefront**, each bank serves
# one word, to as many lanes as want it. Two lanes that want different words of one bank must wait for each other: a bank
# conflict.
#
# In `matmul/tiled`, the lanes of a warp have the same y and x from 0 to 31. They read `tile_a[y, i]`: one word for all. And
# `tile_b[i, x]`: 32 words in a row. How many bank conflicts has the launch?

# %%
predicted = ...  # bank conflicts
notebook.compare("bank conflicts", predicted, tiled.bank_conflicts)

# %% [markdown]
# Now the same tile, read down its columns, as a transposition does. Tiles of 32 x 32 floats: how many wavefronts does a load
# take? And when each row is one float longer, 33, that float never being used?

# %%
def flipped_with(width):
    """A kernel that transposes one tile of 32 x 32, whose rows are `width` floats apart in shared memory."""

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((32, width), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = 32 * y + x
        cuda.syncthreads()
        out[y, x] = tile[x, y]

    return kernel


predicted_32 = ...  # wavefronts per load, rows of 32 floats
predicted_33 = ...  # wavefronts per load, rows of 33 floats

# %%
def flipped_and_counted(width):
    kernel, out = flipped_with(width), cuda.device_array((32, 32), np.float32)
    ran = notebook.count(lambda: kernel[1, (32, 32)](out), f"rows of {width}")
    assert (out.copy_to_host() == np.arange(1024).reshape(32, 32).T).all()
    return ran


def wavefronts(ran):
    return ran.counters[names.SHARED_WAVEFRONTS_LD] / ran.counters[names.SHARED_REQUESTS_LD]


flipped = {width: flipped_and_counted(width) for width in (32, 33)}
notebook.compare("wavefronts per load, rows of 32", predicted_32, wavefronts(flipped[32]))
notebook.compare("wavefronts per load, rows of 33", predicted_33, wavefronts(flipped[33]))

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for axes, width in zip(panels, flipped, strict=True):
    load = next(s for s in flipped[width].launches[0].samples if (s.space, s.action) == ("shared", "load"))
    banks = np.array(load.addresses) // 4 % 32
    axes.scatter(banks, range(32), marker="s", s=14, color="#D55E00" if len(set(banks)) == 1 else "#0072B2")
    axes.set_title(f"rows of {width} floats; wavefronts: {wavefronts(flipped[width]):g}")
    axes.set_xlim(-1, 32)
    axes.set_xlabel("bank of the word that the lane reads")
    axes.grid(color="#DDDDDD")
    axes.set_axisbelow(True)
panels[0].set_ylabel("lane of one warp")
plt.close(figure)
figure

# %% [markdown]
# Without padding all 32 lanes queue at one bank; with it, each has a bank for itself. 32 unused words, 128 bytes of shared
# memory, buy a factor of 32 at that line. The matmul rungs above this one will meet bank conflicts again.
#
# ## What it brings
# The figures of the three rungs, from a sample of the blocks:

# %%
times = notebook.time("matmul", ["naive", "coalesced", "tiled"], m=4096, n=4096, k=256)
notebook.speedup_bars(times)

# %%
notebook.table(times)

# %% [markdown]
# Those times are **modelled**, from counters and published facts of the device, and the model's error is not validated yet.
# For comparison, what was *measured*, by others, on another device and with CUDA C, for kernels that make the same changes:

# %%
notebook.published("matmul", "a6000")

# %% [markdown]
# For these three the order is the same, the steps are not. Another device, another compiler, other index arithmetic: take from
# a model which unit is the bottleneck, and measure before you tell anyone a factor.
#
# Where do the three stand below the roof?

# %%
notebook.roofline([naive, coalesced, tiled])

# %%
import simt

for ran in (naive, coalesced, tiled):
    print(f"{ran.name:16}  {ran.launches[0].blocks_total} blocks for {simt.device().sm_count} SMs")
print(f"{tiled.name}: {tiled.counters[names.SHARED_REQUESTS_LD] / tiled.counters[names.instructions('fp32')]:g} "
      "shared loads for each multiply-add")

# %% [markdown]
# All are far below: at 128 x 128 x 128 most SMs have no block at all. The table is of a size that fills them.
#
# And there the third rung is bound by the load/store unit: two shared loads for each multiply-add, for which no tile size
# helps. The next bottleneck is therefore the way from shared memory to registers, and what is nearer than shared memory is
# only the registers.
#
# ## On your own
# - How often would each byte of A and B be fetched with tiles of 64? Which limit does a block of 64 x 64 threads break?
# - `notebook.run("matmul/tiled", m=33, n=33, k=33)`: how many multiply-adds does it execute? How many are needed?
# - In `tiled_with`, store and read `tile_b` with its two indices swapped. Predict the conflicts with tiles of 8, then count.
# - `./ladder exercise check matmul/naive`, then `matmul/coalesced`, `matmul/tiled`; `first/shared` if barriers are new to you.
#
# Next: [matmul: registers, vectors, warps](40_matmul_registers_vectors_warps.ipynb).
