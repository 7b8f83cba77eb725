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
# # Is it slower?
#
# Runs over commits, one line each in `history.jsonl`, on one class of hosts. A step is marked where the level changed for good, with the commit
# it begins at; a single outlier is none. The steps in this example were programmed: see the table of [results/reference](../results/reference/README.md).

# %% tags=["parameters"]
import bench
from bench.frames import verdicts

HISTORY = "../results/reference/history.jsonl"

# %%
ax = bench.plots.history(HISTORY)
# %%
ax = bench.plots.history(HISTORY, segment="setup")
# %%
verdicts(HISTORY)

# %% [markdown]
# What this does not show: why. `mcp-latency compare BASE HEAD` of the two runs beside a step says in which segment it is, and
# `mcp-latency ab` of the two commits says it with an error rate.
