"""`python -m tests.fuzz SECONDS`: new examples of every property in turn until the time is over.

An example that does not hold is printed as small as it was found, and ends the program with 1.
"""

from __future__ import annotations

import itertools
import sys
import time

from hypothesis import HealthCheck, settings

from tests.fuzz.properties import PROPERTIES, prove

HOUR_S = 3600.0
AT_ONCE = 500


def main(limit_s: float) -> None:
    """Prove them with other examples each time; raises where one does not hold."""
    given = settings(
        max_examples=AT_ONCE,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    began_s = time.monotonic()
    for count, name in enumerate(itertools.cycle(PROPERTIES), start=1):
        prove(name, given)
        spent_s = time.monotonic() - began_s
        print(f"{spent_s:6.0f} s  {count * AT_ONCE:>9,} examples  {name}", flush=True)
        if spent_s >= limit_s:
            return


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else HOUR_S)
