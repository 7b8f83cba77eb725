"""A latency benchmarking harness for MCP servers."""
