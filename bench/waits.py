"""Places on an axis for stamps, with long waits cut short: a start would leave a call no width."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

LONGEST = 4  # times a usual wait; a longer one is cut to that, and its length is to be written
USUAL = 0.75  # the share of the waits that are no longer than the usual one

Stamps: TypeAlias = NDArray[np.int64]


class Shortened:
    """The places of `stamps` (ns, ascending): as far apart as in time, up to the longest wait.

    `cut` holds the indices of the stamps after which a wait was cut.
    """

    def __init__(self, stamps: Stamps) -> None:
        gaps = np.diff(stamps)
        usual = float(np.quantile(gaps, USUAL)) if len(gaps) else 1.0
        longest = max(1.0, LONGEST * usual)
        self.stamps = stamps
        self.places = np.concatenate([[0.0], np.cumsum(np.minimum(gaps, longest))])
        self.cut = [int(at) for at in np.flatnonzero(gaps > longest)]

    def of(self, stamp_ns: float) -> float:
        """Where a stamp between the first and the last stands."""
        return float(np.interp(stamp_ns, self.stamps, self.places))

    def middle(self, at: int) -> float:
        """The middle of the wait after a stamp."""
        return float(self.places[at] + self.places[at + 1]) / 2

    def wait_ns(self, at: int) -> int:
        """The true length of the wait after a stamp."""
        return int(self.stamps[at + 1] - self.stamps[at])
