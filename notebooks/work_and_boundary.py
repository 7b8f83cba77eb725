# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How much of a call is the tool?
#
# A call is cut where a probe in the server's runtime saw the request read, the tool's own function entered and left, and the reply
# handed over. `work` is the function; all else is the **boundary**: the SDK before it (`dispatch`) and behind it (`encode`), and the
# way there and back (`deliver`, `return`).

# %% tags=["parameters"]
import bench

RUN = "../results/reference/tickets"

# %%
run = bench.load(RUN)
ax = bench.plots.breakdown(run)
# %%
run.medians_ms("deliver", "dispatch", "work", "encode", "return", "boundary", "call").round(3)

# %% [markdown]
# The bar is the typical call, whose parts add up to it; the table has the medians of each part, which need not. How the whole call
# is spread, and its work alone:

# %%
ax = bench.plots.distribution(run)
# %%
ax = bench.plots.distribution(run, segment="work")

# %% [markdown]
# What this does not show: what the tool itself spends its time on. Where no probe can look, `boundary` is an estimate by the
# cheapest request on the same connection, and the column `work_source` of `run.segments` says so.
