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


def main(limit_s: float) -> None:
    """Prove them with other examples each time, as many as in the gate; raises where one fails."""
    began_s, count = time.monotonic(), 0
    for name in itertools.cycle(PROPERTIES):
        prove(name, _other(PROPERTIES[name].checked))
        spent_s, count = time.monotonic() - began_s, count + PROPERTIES[name].checked
        print(f"{spent_s:6.0f} s  {count:>9,} examples  {name}", flush=True)
        if spent_s >= limit_s:
            return


def _other(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else HOUR_S)
