"""Draws the pictures of the README and of the reference page: `python docs/draw.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import bench
from bench import plots

TOP = Path(__file__).parent.parent

mpl.use("Agg")
run = bench.load(TOP / "results" / "reference" / "tickets")
figure, (calls, setups) = plt.subplots(2, 1, figsize=(10, 6.6), layout="constrained")
plots.breakdown(run, calls)
plots.setup(run, setups)
figure.savefig(TOP / "docs" / "tickets.png", dpi=110)
figure, costs = plt.subplots(figsize=(9, 3.6), layout="constrained")
plots.break_even(run, costs)
figure.savefig(TOP / "docs" / "break_even.png", dpi=110)
