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
# # Stateful or stateless, and when does a handshake pay?
#
# Until 2025-11-25 a session opens with `initialize`; 2026-07-28 has no handshake, and every request carries what the server needs to know.
# So one pays once a connection, the other in every call. Ratios are stateless to stateful, launch by launch.

# %% tags=["parameters"]
import bench

RUN = "../results/reference/tickets"

# %%
run = bench.load(RUN)
ax = bench.plots.compare(run, axis="era")
# %%
ax = bench.plots.break_even(run)
# %%
run.medians_ms("initialize", "discover", "initialized", "tools_list", "setup", "call").round(3)

# %% [markdown]
# Where a circle is missing there is no crossing: one cell is cheaper from the first call on.
#
# What this does not show: servers that keep no session need no shared memory between their copies, which no latency tells. And where
# `response` differs too (SSE here, JSON there, as the server chooses), the ratio is of both together; the report names that.
