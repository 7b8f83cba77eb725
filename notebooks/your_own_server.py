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
# Five cells: measure, load, and three looks. Put your own command line for `SERVER`.

# %% tags=["parameters"]
import json
import subprocess
import sys

import bench

SERVER = [sys.executable, "../scenarios/servers/tickets-python/server.py"]
SIZE = ["--quick"]

# %%
words = ["-m", "bench", "run", *SIZE, "--json", "--out", "../results", "--", *SERVER]
said = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, check=True).stdout
run = bench.load(json.loads(said)["path"])

# %%
ax = bench.plots.setup(run)
# %%
ax = bench.plots.breakdown(run)
# %%
run.medians_ms("setup", "first_call", "call", "work", "boundary").round(3)

# %% [markdown]
# `--quick` is nine launches of twenty calls: a first look. Without it there are ten of a hundred; `--tool NAME` and `--args JSON` choose
# what is called.
