# %% [markdown]
# # Matmul: registers, vectors, warps
#
# **You will do:** count multiply-adds per load on six rungs, find bank conflicts and remove them, judge a doubtful step.
# **You will learn:** what registers are for, what they cost, and how to tell beforehand what a change can bring at most.
# **You need:** [matmul: naive to tiled](30_matmul_naive_to_tiled.ipynb).

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
predicted = None  # multiply-adds per shared load, register_1d

# %%
from simt.observe import names

STEPS = ("tiled", "register_1d", "register_2d", "vectorised", "bank_free", "warp_tile", "double_buffer")
runs = {step: notebook.run(f"matmul/{step}", m=128, n=128, k=64) for step in STEPS}


def per_load(ran):
    """Multiply-adds per shared load, both counted as instructions of warps."""
    return ran.counters[names.instructions("fp32")] / ran.counters[names.SHARED_REQUESTS_LD]


print(f"all right: {all(ran.correct for ran in runs.values())}; tiled: {per_load(runs['tiled']):g} per load")
notebook.compare("multiply-adds per shared load", predicted, per_load(runs["register_1d"]))

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
predicted = None  # multiply-adds per shared load, register_2d
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
predicted = None  # wavefronts of one load of tile_b
notebook.bank_grid(square, line=notebook.line_of(square, "= tile_b[k, col + j]"))

# %%
lines = {line: counters for (_, line), counters in square.lines.items()}
of_b = lines[notebook.line_of(square, "= tile_b[k, col + j]")]
notebook.compare("wavefronts per load of tile_b", predicted,
                 of_b[names.SHARED_WAVEFRONTS_LD] / of_b[names.SHARED_REQUESTS_LD])

# %% [markdown]
# 16 words in 4 banks. (`tile_a` has a milder case of the same: two rows, 64 words apart, in one bank.) The rung is faster all
# the same, since it loads so much less; and the next bottleneck is known.
#
# ## Sixteen bytes at a time
# The 8 values of B that a thread reads are neighbours. One instruction can load four of them. For A the tile is stored
# transposed, so that its 8 values are neighbours too. Predict the multiply-adds per load *instruction*:

# %%
predicted = None  # multiply-adds per shared load, vectorised
notebook.compare("multiply-adds per shared load", predicted, per_load(runs["vectorised"]))

# %%
notebook.changes("matmul/vectorised")

# %% [markdown]
# A quarter of the requests, for the same bytes. A load of 16 bytes by 32 lanes is 512 bytes, and a wavefront passes 128: four
# at least. How many does this rung take, on average, and how many would do?

# %%
def wavefronts(step):
    """Per shared load."""
    return counted(step, names.SHARED_WAVEFRONTS_LD) / counted(step, names.SHARED_REQUESTS_LD)


for step in ("register_2d", "vectorised"):
    print(f"{step:12} {wavefronts(step):g} wavefronts per shared load, {runs[step].bank_conflicts:,} bank conflicts in all")

# %% [markdown]
# Six instead of four. Wide loads are served eight lanes at a time. Eight lanes, 8 floats apart, span 64 words: lanes 0 and 4
# meet in one bank, so do 1 and 5, and so on. The loads of A take four, those of B eight.
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
wavefronts_predicted = None  # per shared load
sectors_predicted = None  # per global store
notebook.compare("wavefronts per shared load", wavefronts_predicted, wavefronts("bank_free"))
stores = counted("bank_free", names.GLOBAL_SECTORS_ST) / counted("bank_free", names.GLOBAL_REQUESTS_ST)
notebook.compare("sectors per store", sectors_predicted, stores)

# %%
notebook.bank_grid(runs["vectorised"], line=notebook.line_of(runs["vectorised"], "load4(tile_b"))

# %%
notebook.bank_grid(runs["bank_free"], line=notebook.line_of(runs["bank_free"], "load4(tile_b"))

# %% [markdown]
# ## A tile for each warp
# So far a warp covered 16 rows and 128 columns of the block's tile: long and thin, and we saw what squares are good for. The
# next rung lets a warp compute 64 x 64 cells, each thread 8 x 16 of them. Per value of k, a thread loads 8 of A and 16 of B,
# four at a time. Multiply-adds per shared load?

# %%
predicted = None  # multiply-adds per shared load, warp_tile
notebook.compare("multiply-adds per shared load", predicted, per_load(runs["warp_tile"]))

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
bars = axes.barh(STEPS, [per_load(runs[step]) for step in STEPS], color="#0072B2")
axes.bar_label(bars, fmt=" {:.3g}")
axes.invert_yaxis()
axes.set_xlabel("multiply-adds per shared load, both as instructions of a warp")
axes.margins(x=0.1)
plt.close(figure)
figure

# %% [markdown]
# ## What registers cost
# 128 totals, 8 + 16 values, addresses: all of them in registers, and an SM has 65,536. They are handed out in portions of 256
# per warp, 16,384 in each of four parts of the SM; a block starts only if all its warps find room.
#
# `bank_free`: blocks of 256 threads, 95 registers each. How many warps can live in an SM at once, of the 64 it could manage?

# %%
import simt
from simt.model import occupancy

predicted = None  # warps per SM, bank_free


def room(step):
    launch = runs[step].launches[0]
    return occupancy(simt.device(), launch.threads_per_block, launch.registers, launch.shared_bytes)


notebook.compare("warps per SM", predicted, room("bank_free").warps_per_sm, tag="it is")
for step in STEPS:
    launch, found = runs[step].launches[0], room(step)
    print(f"{step:13}  {launch.registers:3} registers x {launch.threads_per_block:4} threads: {found.blocks_per_sm:2} blocks,"
          f" {found.warps_per_sm:2} warps, limited by {found.limiter}")

# %% [markdown]
# Warps that wait are covered by warps that do not, so fewer warps sounds worse. Does it come out worse? Times for m = n =
# 4096, k = 256, modelled from a sample of the blocks:

# %%
rows = notebook.time("matmul", STEPS, m=4096, n=4096, k=256)
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained", sharey=True)
for axes, figures, what in zip(
    panels,
    ([row.theoretical_occupancy_percent for row in rows], [row.gflops / 1000 for row in rows]),
    ("theoretical occupancy, %", "TFLOP/s, modelled"),
    strict=True,
):
    axes.bar_label(axes.barh(STEPS, figures, color="#0072B2"), fmt=" {:.3g}")
    axes.set_xlabel(what)
    axes.margins(x=0.12)
panels[0].invert_yaxis()
plt.close(figure)
figure

# %%
notebook.table(rows)

# %% [markdown]
# The rungs with the fewest warps are the fastest. Their threads have 64 or 128 sums that do not depend on each other: one
# warp with that much to do waits less than many warps with nothing to do. Occupancy is a means, not an aim.
#
# ## The step that gains next to nothing
# While a block computes on one pair of tiles, the next pair could already be on its way: **double buffering**.
# `double_buffer` has two pairs, loads the next one before it computes, and needs one barrier per tile instead of two.
#
# Before you look at its time: what *can* it bring? The model says how long each unit would be busy, and how long blocks stand
# at barriers on top of that. For `warp_tile`:

# %%
before, after = rows[STEPS.index("warp_tile")], rows[STEPS.index("double_buffer")]
for name, ns in sorted(before.terms_ns.items(), key=lambda term: -term[1]):
    print(f"{name:16} {ns / 1000:7.1f} us  {100 * ns / before.time_ns:5.1f} %")

# %% [markdown]
# Half of the barriers go away. What speedup would you promise for that, as a factor?

# %%
predicted = None  # time before / time after
ratio = counted("warp_tile", names.BARRIERS) / counted("double_buffer", names.BARRIERS)
print(f"barriers: {ratio:g} times fewer")
notebook.compare("speedup", predicted, before.time_ns / after.time_ns, tag="modelled")

# %%
for name in ("issue", "load/store unit", "barriers", "latency"):
    print(f"{name:16} {before.terms_ns[name] / 1000:7.1f} us, then {after.terms_ns[name] / 1000:7.1f} us")
launches = [runs[step].launches[0] for step in ("warp_tile", "double_buffer")]
print(f"registers        {launches[0].registers:7}   , then {launches[1].registers:7}")

# %% [markdown]
# The claim in its file holds: half the barriers. But there was less than 1 % of the time to be had there. What it does gain
# comes from a few instructions less; and it pays with registers, so that fewer warps fit. A good idea, well done, at a place
# where nothing was wrong. Had one looked at the terms first, one would have asked what fills *issue* instead: everything that
# is not a multiply-add.
#
# A model can be wrong here, and says itself where: it takes the largest term and does not simulate how loads and arithmetic
# overlap. On a GPU, measure this step before you believe either side.
#
# ## Beside what others measured
# S. Boehm's README of SGEMM_CUDA gives, in CUDA C on an A6000 at 4092 x 4092 x 4092, in GFLOP/s: 2,980 with shared tiles,
# 8,475 with a 1-D tile in registers, 15,972 with a 2-D one, 18,237 with vectors, 21,779 with warp tiles; cuBLAS 23,250. The
# order is that of the table above. One pair is not: his two kernels without bank conflicts measure 16,213 and 16,459, *less*
# than his vectorised one, while our model gives that step 1.3x. His layouts differ from ours, and nobody here has measured
# ours yet. A counter that falls to zero proves that conflicts are gone. It does not prove that they were what one waited for.
#
# ## On your own
# - 8 x 8 results, loads of 4: 16 multiply-adds a load. Which tile per thread reaches 32, and how many totals is that?
# - `./ladder profile matmul/vectorised` names the line with the conflicts. Which line, and how many per request?
# - In `notebook.time("matmul", STEPS, m=1024, n=1024, k=256)` the order changes. Count the blocks, and compare with 132 SMs.
# - `./ladder exercise check matmul/register_1d`, then `matmul/register_2d`, `matmul/vectorised`, `matmul/bank_free`,
#   `matmul/warp_tile`, `matmul/double_buffer`.
#
# Next: [reductions and shuffles](50_reductions_and_shuffles.ipynb).
