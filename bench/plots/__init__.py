"""Pictures of a run, or of a history: each takes it and an Axes, draws, and returns the Axes."""

from bench.plots.costs import break_even
from bench.plots.course import drift
from bench.plots.history import history
from bench.plots.lanes import timeline
from bench.plots.ledgers import breakdown, setup
from bench.plots.ratios import compare
from bench.plots.spread import distribution
from bench.report.colours import COLOURS

__all__ = [
    "COLOURS",
    "break_even",
    "breakdown",
    "compare",
    "distribution",
    "drift",
    "history",
    "setup",
    "timeline",
]
