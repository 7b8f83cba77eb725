"""Draws the README's picture from the reference run: `python docs/draw.py`."""

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
