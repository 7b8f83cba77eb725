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
# # Where does the start go?
#
# The setup of a connection, phase by phase: over stdio from the spawning of the process, over HTTP from the connecting to a server
# that runs already (its own start is `boot`, beside the sum). The phases add up to `setup`, to the nanosecond.

# %% tags=["parameters"]
import bench

RUN = "../results/reference/tickets"

# %%
run = bench.load(RUN)
ax = bench.plots.setup(run)
# %%
run.medians_ms(
    *("interpreter", "imports", "serving", "connect", "initialize", "discover", "initialized"),
    *("tools_list", "client", "setup", "boot", "first_call", "first_result"),
).round(2)

# %% [markdown]
# Each bar begins where the one before it ended. `interpreter` is the runtime until it can run the server's code, `imports` the
# loading of that code, `serving` from there to the first request read: none of these three is the protocol's. `first_call` is dearer
# than those after it, and is in no other figure.
#
# The first messages of one launch, with the waits as they were:

# %%
ax = bench.plots.timeline(run)

# %% [markdown]
# What this does not show: a disk that is cold (the files were read before), and hosts that start several servers at once
# (`mcp-latency run --config` measures that).
