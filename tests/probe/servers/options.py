"""What the Python servers of these tests share: their options, and the work of their tools."""

import argparse
import json
import os
from time import perf_counter_ns


def parse() -> argparse.Namespace:
    """`--http` instead of stdio; `--json`, `--stateless`, `--parser` for its variants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--parser", choices=("h11", "httptools"), default="httptools")
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), default="asyncio")
    return parser.parse_args()


def spun(work_ns: int) -> str:
    """Spin for `work_ns`; the function's own first and last reading of the clock, as JSON."""
    entered = perf_counter_ns()
    left = entered
    while left - entered < work_ns:
        left = perf_counter_ns()
    return json.dumps({"entered": entered, "left": left, "pid": os.getpid()})
