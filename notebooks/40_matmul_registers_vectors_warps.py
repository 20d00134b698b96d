# %% [markdown]
# # Matmul: registers, vectors, warps
#
# - **You will do:** count multiply-adds per load on six rungs, find bank conflicts and remove them, judge a doubtful step.
# - **You will learn:** what registers are for, what they cost, and how to tell beforehand what a change can bring at most.
# - **You need:** [matmul: naive to tiled](30_matmul_naive_to_tiled.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# The tiled rung loads two values from shared memory for one multiply-add. All of this notebook is about that ratio:
# **multiply-adds per shared load**. A value that sits in a register costs nothing to use again. So a thread should compute
# several cells of C, and use each loaded value for all of them.
#
# ## One column of eight
# A thread takes 8 cells, one below the other. They share a column of B: one value of B serves all eight, and each needs its
# own value of A. Multiply-adds per shared load?

# %%
predicted = ...  # multiply-adds per shared load, register_1d

# %%
from simt.observe import names

COUNTED = ("tiled", "register_1d", "register_2d", "vectorised", "bank_free")
runs = {step: notebook.run(f"matmul/{step}", m=128, n=128, k=64) for step in COUNTED}


def per_load(ran):
    """Multiply-adds per shared load, both counted as instructions of warps."""
    return ran.counters[names.instructions("fp32")] / ran.counters[names.SHARED_REQUESTS_LD]


notebook.compare("multiply-adds per shared load", predicted, per_load(runs["register_1d"]))

# %%
for step in ("tiled", "register_1d"):
    print(f"{step:12} {per_load(runs[step]):.3g} multiply-adds per shared load")
print("all five right:", all(ran.correct for ran in runs.values()))

# %%
notebook.show("matmul/register_1d")

# %% [markdown]
# From 0.5 to 0.89. Two more things changed. The block's tile is 64 x 64 cells now instead of 32 x 32, so everything is
# fetched half as often from global memory. And `totals` is a *local array*: its loops have constant bounds, the compiler
# unrolls them, every index becomes a constant, and the eight totals live in registers. With one index that is not known at
# compile time, they would live in memory instead.
#
# ## A square of eight by eight
# 8 values of A and 8 of B are 16 loads. They make 64 products. Multiply-adds per shared load?

# %%
predicted = ...  # multiply-adds per shared load, register_2d
square = runs["register_2d"]
notebook.compare("multiply-adds per shared load", predicted, per_load(square))

# %% [markdown]
# A column of n cells needs n + 1 loads for n products, a square of n x n needs 2n loads for n² products: squares grow better.
# But look at what else came with it:

# %%
def counted(step, name):
    return runs[step].counters[name]


print("step            global load sectors  sectors per store  bank conflicts")
for step in ("register_1d", "register_2d"):
    per_store = counted(step, names.GLOBAL_SECTORS_ST) / counted(step, names.GLOBAL_REQUESTS_ST)
    print(f"{step:14}  {counted(step, names.GLOBAL_SECTORS_LD):19,}  {per_store:17g}  {runs[step].bank_conflicts:14,}")

# %% [markdown]
# Neighbouring threads now have columns that lie 8 apart. For memory that is stride 8: a sector for each lane when C is
# stored. For shared memory it is a matter of banks. 16 threads read `tile_b[k, 8 * t]` for t = 0 … 15, the other 16 of the
# warp the same words. How many wavefronts does that load take? (Word w is in bank w % 32; a bank serves one word at a time.)

# %%
predicted = ...  # wavefronts of one load of tile_b

# %%
lines = {line: counters for (_, line), counters in square.lines.items()}
of_b = lines[notebook.line_of(square, "= tile_b[k, col + j]")]
notebook.compare("wavefronts per load of tile_b", predicted,
                 of_b[names.SHARED_WAVEFRONTS_LD] / of_b[names.SHARED_REQUESTS_LD])

# %%
notebook.bank_grid(square, line=notebook.line_of(square, "= tile_b[k, col + j]"))

# %% [markdown]
# 16 words in 4 banks. (`tile_a` has a milder case of the same: two rows, 64 words apart, in one bank.) The conflicts are
# new, and the loads are far fewer: which of the two weighs more will stand in the table below.
#
# ## Sixteen bytes at a time
# The 8 values of B that a thread reads are neighbours. One instruction can load four of them. For A the tile is stored
# transposed, so that its 8 values are neighbours too. Predict the multiply-adds per load *instruction*:

# %%
predicted = ...  # multiply-adds per shared load, vectorised
notebook.compare("multiply-adds per shared load", predicted, per_load(runs["vectorised"]))

# %%
notebook.changes("matmul/vectorised")

# %% [markdown]
# A quarter of the requests, for the same bytes. A wide load is served eight lanes at a time: 8 x 16 bytes are the 128 that a
# wavefront passes, so that four wavefronts are the least. The loads of A take four. For B, eight neighbouring lanes start 8
# floats apart, and each reads 4: which of them meet in a bank? How many wavefronts do the loads of B take, and how many a
# shared load on average?

# %%
of_b_predicted, predicted = ..., ...  # wavefronts of a load of tile_b; wavefronts per shared load, over both tiles

# %%
def wavefronts(step):
    """Per shared load."""
    return counted(step, names.SHARED_WAVEFRONTS_LD) / counted(step, names.SHARED_REQUESTS_LD)


def wavefronts_at(step, words):
    """Per shared load of the line that holds the words."""
    at = notebook.line_of(runs[step], words)
    counters = next(counters for (_, line), counters in runs[step].lines.items() if line == at)
    return counters[names.SHARED_WAVEFRONTS_LD] / counters[names.SHARED_REQUESTS_LD]


notebook.compare("wavefronts of a load of tile_b", of_b_predicted, wavefronts_at("vectorised", "load4(tile_b"))
notebook.compare("wavefronts per shared load", predicted, wavefronts("vectorised"))

# %%
for tile in ("tile_a", "tile_b"):
    print(f"vectorised, {tile}: {wavefronts_at('vectorised', f'load4({tile}'):g} wavefronts")

for step in ("register_2d", "vectorised"):
    print(f"{step:12} {wavefronts(step):g} wavefronts per shared load, {runs[step].bank_conflicts:,} bank conflicts in all")

# %%
notebook.bank_grid(runs["vectorised"], line=notebook.line_of(runs["vectorised"], "load4(tile_b"))

# %% [markdown]
# Six on average instead of four. Eight lanes, 8 floats apart, span 64 words: lanes 0 and 4 meet in the same banks, so do 1 and
# 5, and so on. The loads of A take four, those of B eight.
#
# ## No conflicts
# The remedy costs nothing: instead of 8 columns in a row, a thread takes 4 and, 64 further on, another 4. Which columns
# belong to which thread is nobody's business but the kernel's.

# %%
notebook.changes("matmul/bank_free")

# %% [markdown]
# Now eight neighbouring lanes read 32 words in a row. Wavefronts per load? And C is stored in pieces of 16 bytes, with 16
# neighbours side by side in each of two rows: how many sectors does a store touch?

# %%
wavefronts_predicted = ...  # per shared load
sectors_predicted = ...  # per global store
notebook.compare("wavefronts per shared load", wavefronts_predicted, wavefronts("bank_free"))
stores = counted("bank_free", names.GLOBAL_SECTORS_ST) / counted("bank_free", names.GLOBAL_REQUESTS_ST)
notebook.compare("sectors per store", sectors_predicted, stores)

# %%
notebook.bank_grid(runs["bank_free"], line=notebook.line_of(runs["bank_free"], "load4(tile_b"))

# %% [markdown]
# ## A tile for each warp
# So far a warp covered 16 rows and 128 columns of the block's tile: long and thin, and we saw what squares are good for. The
# next rung lets a warp compute 64 x 64 cells, each thread 8 x 16 of them. Per value of k, a thread loads 8 of A and 16 of B,
# four at a time. Multiply-adds per shared load?

# %%
predicted = ...  # multiply-adds per shared load, warp_tile

# %%
STEPS = (*COUNTED, "warp_tile", "double_buffer")
times = notebook.recorded("matmul", STEPS)
notebook.compare("multiply-adds per shared load", predicted, per_load(times["warp_tile"]))

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
bars = axes.barh(STEPS, [per_load(row) for row in times], color="#0072B2")
axes.bar_label(bars, fmt=" {:.3g}")
axes.invert_yaxis()
axes.set_xlabel("multiply-adds per shared load, both as instructions of a warp")
axes.margins(x=0.1)
plt.close(figure)
figure

# %% [markdown]
# From here on the figures come from `records/`: what `./ladder record matmul` counted at the ladder's published size, on a
# sample of the blocks. `notebook.run("matmul/warp_tile")` counts for you as before; the last two kernels take a while to
# compile.
#
# ## What registers cost
# A thread of `warp_tile` has 128 totals, 8 + 16 values, addresses: all of them in registers, and an SM has 65,536. They are
# handed out in portions of 256 per warp, 16,384 in each of four parts of the SM; a block starts only if all its warps find
# room.
#
# `bank_free` has blocks of 256 threads. With the registers that follow, how many of its warps can live in an SM at once, of
# the 64 that it could manage?

# %%
import simt
from simt.model import occupancy

launch = runs["bank_free"].launches[0]
print(f"{launch.registers} registers a thread, {launch.shared_bytes:,} bytes of shared memory a block")

# %%
predicted = ...  # warps per SM, bank_free
found = occupancy(simt.device(), launch.threads_per_block, launch.registers, launch.shared_bytes)
notebook.compare("warps per SM", predicted, found.warps_per_sm, tag="it is")

# %%
print(f"{found.blocks_per_sm} blocks, {found.warps_per_sm} warps, limited by {found.limiter}")

# %% [markdown]
# Warps that wait are covered by warps that do not, so fewer warps sounds worse. Does it come out worse? Of the seven rungs,
# which has the fewest warps, and which is the fastest?

# %%
fewest, fastest = ..., ...  # places: 1 for tiled, the lowest of the seven, up to 7 for double_buffer
places = range(len(STEPS))
notebook.compare("fewest warps", fewest, 1 + min(places, key=lambda n: times[n].theoretical_occupancy_percent), tag="it is")
notebook.compare("fastest", fastest, 1 + min(places, key=lambda n: times[n].time_ns), tag="it is")

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained", sharey=True)
for axes, figures, what in zip(
    panels,
    ([row.theoretical_occupancy_percent for row in times], [row.gflops / 1000 for row in times]),
    ("theoretical occupancy, %", f"TFLOP/s, {times.kind}"),
    strict=True,
):
    axes.bar_label(axes.barh(STEPS, figures, color="#0072B2"), fmt=" {:.3g}")
    axes.set_xlabel(what)
    axes.margins(x=0.12)
panels[0].invert_yaxis()
plt.close(figure)
figure

# %%
notebook.table(times)

# %% [markdown]
# The rungs with the fewest warps are the fastest. Their threads have 64 or 128 sums that do not depend on each other: one
# warp with that much to do waits less than many warps with nothing to do. Occupancy is a means, not an aim.
#
# ## One barrier instead of two
# While a block computes on one pair of tiles, the next pair could already be on its way: **double buffering**.
# `double_buffer` has two pairs, loads the next one before it computes, and needs one barrier per tile instead of two.
#
# Before you look at its time: what *can* it bring? Here is what changes, in the whole launch:

# %%
before, after = times["warp_tile"], times["double_buffer"]
CHANGED = {"multiply-adds": names.instructions("fp32"), "all PTX instructions": names.INSTRUCTIONS,
           "shared loads": names.SHARED_REQUESTS_LD, "warps at barriers": names.BARRIERS}
print(f"{'bound by':20} {before.bound_by:>14} {after.bound_by:>14}")
for what, name in CHANGED.items():
    print(f"{what:20} {before.counters[name]:14,} {after.counters[name]:14,}")
print(f"{'registers':20} {before.registers:14} {after.registers:14}")

# %% [markdown]
# Half of the barriers go away. But look at what bounds the launch: it waits for its instructions to be *issued*, one each
# cycle in each of the four parts of an SM. What speedup would you promise, as a factor?

# %%
predicted = ...  # time before / time after
notebook.compare("speedup", predicted, before.time_ns / after.time_ns, tag=times.kind)

# %%
fewer = before.counters[names.INSTRUCTIONS] / after.counters[names.INSTRUCTIONS]
print(f"PTX instructions: {fewer:.3f} times fewer; time: {before.time_ns / after.time_ns:.3f} times less, {times.kind}")

# %% [markdown]
# The claim in its file holds: half the barriers. But barriers were not what one waited for. What it does gain comes from a few
# instructions less; and it pays with registers, so that fewer warps fit. A good idea, well done, at a place where nothing was
# wrong. Had one looked at the bound first, one would have asked what fills *issue* instead: everything that is not a
# multiply-add.
#
# A model can be wrong here, and says itself where: it takes the largest term and does not simulate how loads and arithmetic
# overlap. On a GPU, measure this step before you believe either side.
#
# ## Beside what others measured
# Another device, CUDA C, other layouts; *step* names ours that makes the same change:

# %%
notebook.published("matmul", "a6000")

# %% [markdown]
# Up to the vectors the order is that of our table. The two kernels without bank conflicts are *slower* than the vectorised
# one, while our model calls that step a gain; and double buffering loses. The layouts differ from ours, and nobody here has
# measured ours yet. A counter that falls to zero proves that conflicts are gone. It does not prove that they were what one
# waited for.
#
# ## On your own
# - 8 x 8 results, loads of 4: 16 multiply-adds a load. Which tile per thread reaches 32, and how many totals is that?
# - `./ladder profile matmul/vectorised` names the line with the conflicts. Which line, and how many per request?
# - `notebook.run("matmul/warp_tile")` and its `launches[0].terms`: how long do its blocks stand at barriers, of the whole time?
# - `notebook.time("matmul", STEPS, m=1024, n=1024, k=256)`: does the order change? Count the blocks, and compare with 132 SMs.
# - `./ladder exercise check matmul/register_1d`, then `matmul/register_2d`, `matmul/vectorised`, `matmul/bank_free`,
#   `matmul/warp_tile`, `matmul/double_buffer`.
#
# Next: [reductions and shuffles](50_reductions_and_shuffles.ipynb).
