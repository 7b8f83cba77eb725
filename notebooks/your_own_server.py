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
# # Your own server, start to finish
#
# Five cells: measure and load, and three looks. Put your own command line for `SERVER`, and a tool of yours with its
# arguments for `CALL` (an empty list takes the first tool that needs none).

# %% tags=["parameters"]
import json
import subprocess
import sys

import bench

SERVER = [sys.executable, "../scenarios/servers/tickets-python/server.py"]
CALL = ["--tool", "search_tickets", "--args", '{"query": "refund"}']
SIZE = ["--quick"]

# %%
words = ["-m", "bench", "run", *CALL, *SIZE, "--json", "--out", "../results", "--", *SERVER]
said = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, check=True).stdout
run = bench.load(json.loads(said)["path"])

# %%
ax = bench.plots.setup(run)
# %%
ax = bench.plots.breakdown(run)
# %%
run.medians_ms("setup", "first_call", "call", "work", "boundary").round(3)

# %% [markdown]
# `--quick` is nine launches of twenty calls: a first look. Without it there are ten of a hundred.
