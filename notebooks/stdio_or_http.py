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
# # stdio or HTTP?
#
# Two cells are compared launch by launch: both were measured in every round, in random order. The dot is the ratio of HTTP to stdio, the
# line its 95 % interval; right of 1 is slower. A setup over stdio starts a process; over HTTP it meets one that runs.

# %% tags=["parameters"]
import bench

RUN = "../results/reference/tickets"

# %%
run = bench.load(RUN)
ax = bench.plots.compare(run, axis="transport")
# %% [markdown]
# What n calls cost when each has its share of the setup. A circle is where two compared cells cost the same.

# %%
ax = bench.plots.break_even(run)
# %%
run.medians_ms("setup", "first_call", "call", "deliver", "return", "floor").round(3)

# %% [markdown]
# What this does not show: a network. Everything here is on loopback, so the difference is that of the two protocols and of the code
# that speaks them, not of a distance.
