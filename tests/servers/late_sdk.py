"""A server on the Python SDK whose module sleeps 300 ms before it serves (S3)."""

import time

from mcp.server.mcpserver import MCPServer

time.sleep(0.3)
server = MCPServer("late")


@server.tool()
async def nothing() -> str:
    """Say nothing."""
    return ""


if __name__ == "__main__":
    server.run("stdio")
