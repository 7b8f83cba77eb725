"""`python -m bench` is `mcp-latency`."""

from bench.cli import entry

entry()
