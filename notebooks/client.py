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
# # What does the client add?
#
# The same calls three ways: `wire` sends ready bytes (no client at all), `sdk` is the official Python client at its leanest, `sdk-auto`
# the same client as it comes. What is more than `wire` is the client's.

# %% tags=["parameters"]
import bench

RUN = "../results/reference/clients"

# %%
run = bench.load(RUN)
ax = bench.plots.compare(run, axis="client")
# %%
run.medians_ms("client_out", "call_connect", "exchange", "client_in", "call", "setup").round(3)

# %% [markdown]
# `client_out + call_connect + exchange + client_in = call`: from your `await` to the bytes, a connection that was opened for this call,
# the server and the way there and back, and from the bytes to your result.

# %%
ax = bench.plots.distribution(run)

# %% [markdown]
# What this does not show: other clients, and what a model does between two calls.
