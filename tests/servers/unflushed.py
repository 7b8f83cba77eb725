"""Answers into a block-buffered standard output: nothing leaves before its input ends (L9)."""

import json
import sys

output = open(1, "w", buffering=8192)  # noqa: SIM115 - lives as long as the process
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "padding": "x" * 1000}
        output.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
