# %% [markdown]
# # Memory and coalescing
#
# - **You will do:** predict how many sectors a warp fetches for strides, offsets, layouts and block shapes; look at the maps.
# - **You will learn:** to see a request the way memory does, and what caches repair.
# - **You need:** [threads, blocks, guards](10_threads_blocks_guards.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Requests and sectors
# When a warp comes to a load, its 32 lanes ask together: one **request**. Memory answers in **sectors** of 32 bytes, four to a
# **line** of 128. A sector is fetched whole or not at all, whoever wants how much of it. So the price of a request is the
# number of *different* sectors in which its lanes' bytes lie. Nothing else: not their order, not how often one is wanted.
#
# A kernel to play with. `stride` and `offset` count floats of 4 bytes:

# %%
import numpy as np
from numba import cuda, float32


@cuda.jit
def gather(x, out, stride, offset):
    i = cuda.grid(1)
    out[i] = x[i * stride + offset]


x = cuda.to_device(np.arange(1 << 13, dtype=np.float32))
out = cuda.device_array(128, np.float32)


def gathered(stride=1, offset=0):
    return notebook.count(lambda: gather[1, 128](x, out, stride, offset), f"stride {stride}, offset {offset}")


gathered().sectors_per_request

# %% [markdown]
# Stride 1: 32 lanes of 4 bytes are 128 bytes in a row, 4 sectors, all of them used. That is a **coalesced** access. With
# stride 2 every other float is skipped. How many sectors?

# %%
predicted = ...  # sectors per request at stride 2

# %%
two = gathered(stride=2)
notebook.compare("sectors per request", predicted, two.sectors_per_request)

# %%
notebook.access_map(two)

# %% [markdown]
# The lanes span 256 bytes, and the skipped halves come along. Now all strides from 1 to 33. Where will the curve stop rising,
# and why there? Write the stride:

# %%
predicted = ...  # the first stride at which a request takes as many sectors as it ever will

# %%
strides = np.arange(1, 34)
sectors = np.array([gathered(stride=int(stride)).sectors_per_request for stride in strides])
notebook.compare("first stride with the most sectors", predicted, int(strides[sectors.argmax()]))

# %%
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.3), layout="constrained")
left.bar(strides, sectors, color="#0072B2")
left.set_ylabel("sectors per request")
right.bar(strides, 128 / sectors, color="#009E73")
right.set_ylabel("bytes used of each 32-byte sector")
for axes in (left, right):
    axes.set_xlabel("stride, floats")
plt.close(figure)
figure

# %% [markdown]
# From stride 8 on, 32 bytes lie between neighbouring lanes: each has a sector for itself, and uses 4 bytes of it. It cannot
# get worse than a sector for each lane, so stride 33 costs what stride 8 costs. (Shared memory is another matter: it has banks
# instead of sectors, and there 32 and 33 are worlds apart. That comes with the tiles.)
#
# ## Offsets
# Stride 1 again, but the warp starts one float late, at byte 4. How many sectors?

# %%
predicted = ...  # sectors per request at offset 1

# %%
one_late = gathered(offset=1)
notebook.compare("sectors per request", predicted, one_late.sectors_per_request)

# %%
notebook.access_map(one_late)

# %%
for offset in range(0, 17, 2):
    print(f"offset {offset:2}: {gathered(offset=offset).sectors_per_request:g} sectors per request")

# %% [markdown]
# 128 bytes that do not begin at a sector's edge reach into a fifth one. `cuda.device_array` begins at such an edge; rows of a
# matrix with 101 columns do not, and neither does `x[1:]`. It costs a quarter more, not eight times: worth knowing, rarely
# worth padding for.
#
# ## Everybody wants the same
# All 32 lanes load `x[5]`. How many sectors?

# %%
predicted = ...  # sectors per request at stride 0

# %%
same = gathered(stride=0, offset=5)
notebook.compare("sectors per request", predicted, same.sectors_per_request)

# %% [markdown]
# One: it is fetched once and handed to all. A **broadcast** is cheap in sectors, though it is still a request: the load/store
# unit must be asked, 32 lanes get one value. The naive matmul lives on this for one of its operands.
#
# ## Narrow and wide
# Copy 16 KiB, with lanes that take 1, 2, 4, 8 or 16 bytes at a time. With 16 bytes each: how many requests does the load take,
# and how many sectors has one?

# %%
from kernels.intrinsics import load4, store4
from simt.observe import names


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


@cuda.jit
def copy_fours(x, out):
    i = 4 * cuda.grid(1)
    if i < x.size:
        store4(out, i, load4(x, i))


def counted(kernel, blocks, threads, *arrays):
    """Launch and count."""
    return notebook.count(lambda: kernel[blocks, threads](*arrays), kernel.py_func.__name__)


requests_predicted = ...  # load requests for 16 KiB at 16 bytes a lane
sectors_predicted = ...  # sectors of one of them

# %%
TOTAL_BYTES = 1 << 14


def copied(width):
    """TOTAL_BYTES, copied by lanes that take `width` bytes at a time."""
    dtype = np.dtype(f"int{8 * width}" if width <= 8 else "float32")
    source = cuda.to_device(np.zeros(TOTAL_BYTES // dtype.itemsize, dtype))
    target = cuda.device_array_like(source)
    return counted(copy_fours if width == 16 else copy, TOTAL_BYTES // width // 256, 256, source, target)


widest = copied(16)
notebook.compare("requests at 16 bytes", requests_predicted, widest.counters[names.GLOBAL_REQUESTS_LD])
notebook.compare("sectors per request at 16 bytes", sectors_predicted, widest.sectors_per_request)

# %%
print("bytes a lane  requests  sectors per request  sectors  wavefronts")
for width in (1, 2, 4, 8, 16):
    ran = copied(width)
    requests, fetched = ran.counters[names.GLOBAL_REQUESTS_LD], ran.counters[names.GLOBAL_SECTORS_LD]
    wavefronts = ran.counters[names.GLOBAL_WAVEFRONTS_LD]
    print(f"{width:12}  {requests:8}  {ran.sectors_per_request:19g}  {fetched:7}  {wavefronts:10}")

# %% [markdown]
# The sectors are the same 512 in every row, and each is used whole: *sectors per request* alone says nothing, one must hold
# it against the width. What changes is how often the unit is asked: 512 times for bytes, 32 times for 16-byte loads. From 4
# bytes on the **wavefronts** stay the same, since one passes at most 128 bytes; a wide load saves instructions, not
# bandwidth. That pays where a kernel is short of instructions, and does nothing where it waits for memory. Bytes loaded one by
# one need four times the requests of words, and four times the wavefronts.
#
# ## Array of structures, structure of arrays
# A thousand particles with x, y, z and mass. Stored particle by particle (AoS, shape `(n, 4)`), or field by field (SoA, shape
# `(4, n)`). A kernel reads only x. How many sectors per request with AoS, and what share of the bytes is used?

# %%
@cuda.jit
def x_of_aos(p, out):
    i = cuda.grid(1)
    out[i] = p[i, 0]


@cuda.jit
def x_of_soa(p, out):
    i = cuda.grid(1)
    out[i] = p[0, i]


sectors_predicted = ...  # sectors per request with AoS
percent_predicted = ...  # % of the fetched bytes that are used

# %%
n = 1024
aos, soa = cuda.to_device(np.ones((n, 4), np.float32)), cuda.to_device(np.ones((4, n), np.float32))
out = cuda.device_array(n, np.float32)
apart, together = counted(x_of_aos, n // 256, 256, aos, out), counted(x_of_soa, n // 256, 256, soa, out)
used = 100 * apart.counters[names.GLOBAL_BYTES_REQUESTED_LD] / (32 * apart.counters[names.GLOBAL_SECTORS_LD])
notebook.compare("sectors per request, AoS", sectors_predicted, apart.sectors_per_request)
notebook.compare("% of bytes used, AoS", percent_predicted, used)

# %%
print(f"AoS: {apart.sectors_per_request:g} sectors per request, {used:g} % of the bytes used")
print(f"SoA: {together.sectors_per_request:g} sectors per request")

# %% [markdown]
# SoA wins. But now a kernel that needs all four fields. Three ways: SoA, AoS field by field, and AoS with one 16-byte load.

# %%
@cuda.jit
def sum_of_soa(p, out):
    i = cuda.grid(1)
    out[i] = p[0, i] + p[1, i] + p[2, i] + p[3, i]


@cuda.jit
def sum_of_aos(p, out):
    i = cuda.grid(1)
    out[i] = p[i, 0] + p[i, 1] + p[i, 2] + p[i, 3]


@cuda.jit
def sum_of_aos_at_once(p, out):
    i = cuda.grid(1)
    x, y, z, mass = load4(p, (i, 0))
    out[i] = x + y + z + mass


print("kernel              requests  sectors per request  different sectors per block, all blocks")
for kernel, p in ((sum_of_soa, soa), (sum_of_aos, aos), (sum_of_aos_at_once, aos)):
    ran = counted(kernel, n // 256, 256, p, out)
    different = ran.counters[names.BLOCK_SECTORS_LD]
    print(f"{ran.name:18}  {ran.counters[names.GLOBAL_REQUESTS_LD]:8}  {ran.sectors_per_request:19g}  {different:10}")

# %% [markdown]
# Field by field, AoS asks for the same 16 sectors four times, and the first-level cache has to give them back three times. The
# last column says that no layout fetches more *different* sectors. And with one wide load AoS is as good as SoA, with a
# quarter of the requests. So: SoA where kernels pick fields, AoS of 16 bytes where they take whole particles. "Always SoA" is
# a rule of thumb, the sectors are the reason.
#
# ## Two dimensions: the shape of the block
# Copying a matrix of 256 x 256 with blocks of 256 threads, x along the row. You know how a block is cut into warps: (32, 8)
# gives each warp a piece of one row, (4, 64) eight pieces of 4 floats. How many sectors per request for (4, 64)?

# %%
@cuda.jit
def copy_2d(x, out):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[row, col]


predicted = ...  # sectors per request with blocks of (4, 64)

# %%
matrix = cuda.to_device(np.zeros((256, 256), np.float32))
target = cuda.device_array_like(matrix)
shapes = ((32, 8), (16, 16), (8, 32), (4, 64), (1, 256))
runs = {block: counted(copy_2d, (256 // block[0], 256 // block[1]), block, matrix, target) for block in shapes}
notebook.compare("sectors per request, block (4, 64)", predicted, runs[4, 64].sectors_per_request)

# %%
notebook.access_map(runs[4, 64])

# %%
for block, ran in runs.items():
    print(f"block {block!s:8}: {ran.sectors_per_request:4g} sectors per request")

# %% [markdown]
# Down to 8 columns nothing is lost: a piece of 8 floats fills its sector. Below that, sectors are shared out among warps and
# each fetches them again. (1, 256) walks down a column, and so does `row, col = cuda.grid(2)` with x as the row: the naive
# matmul.
#
# ## What caches repair
# Between a request and DRAM lie two caches: L1, one in each SM, and L2, shared by all (50 MiB on this device). A sector that
# another lane or an earlier request has brought in comes from there. `simt.profile(caches=True)` simulates both.
#
# A sum over each row of a matrix, one thread per row: in each round the 32 lanes of a warp read from 32 rows, 32 sectors. But
# the next seven rounds want the neighbours in the same sectors. What percentage of sectors does L1 have? And in a sum over
# columns, coalesced?

# %%
@cuda.jit
def sum_rows(x, out):
    row = cuda.grid(1)
    total = float32(0)
    for col in range(x.shape[1]):
        total += x[row, col]
    out[row] = total


@cuda.jit
def sum_columns(x, out):
    col = cuda.grid(1)
    total = float32(0)
    for row in range(x.shape[0]):
        total += x[row, col]
    out[col] = total


rows_predicted = ...  # % of sectors that L1 has, sum over rows
columns_predicted = ...  # the same, sum over columns

# %%
import simt

out = cuda.device_array(256, np.float32)
with simt.profile(sample="all", caches=True) as profile:
    sum_rows[2, 128](matrix, out)
    sum_columns[2, 128](matrix, out)
of_rows_and_columns = [launch.counters for launch in profile.launches]
hits = [100 * c[names.L1_HITS_LD] / c[names.GLOBAL_SECTORS_LD] for c in of_rows_and_columns]
notebook.compare("% L1 hits, rows", rows_predicted, hits[0], tag="simulated")
notebook.compare("% L1 hits, columns", columns_predicted, hits[1], tag="simulated")

# %%
for what, c in zip(("rows", "columns"), of_rows_and_columns, strict=True):
    asked, moved, wavefronts = c[names.GLOBAL_SECTORS_LD], 32 * c[names.DRAM_READ_SECTORS], c[names.GLOBAL_WAVEFRONTS_LD]
    percent = 100 * c[names.L1_HITS_LD] / asked
    print(f"{what:7}: {wavefronts:6,} wavefronts, {asked:6,} sectors, {percent:4.1f} % from L1, {moved:7,} bytes from DRAM")

# %% [markdown]
# The bytes from DRAM are the same: 256 KiB, the matrix, once. A low hit rate is no fault, and a high one no merit: the
# coalesced kernel has 0 % because it never asks twice. What the cache does not repair is the asking: eight times as many
# sectors have to pass through L1, and each of those requests is cut into wavefronts that take turns at the load/store unit.
# And it repairs only as long as the sectors stay: with more rows in flight than L1 has room for, they are gone before their
# turn.
#
# Exact here are requests and sectors; hit rates and DRAM bytes are *simulated*, with each block alone in its share of a cold
# L1. On a GPU, Nsight Compute has the same counters under the same names (`l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`),
# and its hit rates are what really happened.
#
# ## On your own
# - Negative stride, `x[8000 - i]`: how many sectors? And when the lanes of a warp ask in random order within 128 bytes?
# - A matrix of 256 x 255: what do the offsets of its rows do to the block (32, 8)? Predict the mean, then count.
# - Particles with three fields, `(n, 3)`: sectors per request for x alone? Which share of the bytes is used?
# - `./ladder exercise check first/broadcast`, then `first/axis_sum`.
#
# Next: [matmul: naive to tiled](30_matmul_naive_to_tiled.ipynb).
