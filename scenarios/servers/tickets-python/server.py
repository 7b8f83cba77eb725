"""A ticket desk as an MCP server on the Python SDK 2: both transports, both eras, one real tool."""

import argparse
import json
import sqlite3

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import tickets


def main() -> None:
    """Serve on stdio, or with `--http PORT` as Streamable HTTP at http://127.0.0.1:PORT/mcp."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP instead of stdio")
    parser.add_argument("--json", action="store_true", help="answer with JSON, not SSE")
    parser.add_argument("--stateless", action="store_true", help="keep no session")
    options = parser.parse_args()
    server = desk(tickets.build())
    if options.http is None:
        server.run("stdio")
    else:
        server.run(
            "streamable-http",
            host="127.0.0.1",
            port=options.http,
            json_response=options.json,
            stateless_http=options.stateless,
        )


def desk(database: sqlite3.Connection) -> MCPServer[dict[str, object]]:
    """The server with its two tools: coroutines, since the SDK gives plain functions a thread."""
    server: MCPServer[dict[str, object]] = MCPServer(
        "tickets-python", version="1", log_level="ERROR"
    )

    @server.tool(structured_output=False)
    async def search_tickets(query: str, status: str = "open", limit: int = 10) -> str:
        """Find support tickets by words of their title and text, best match first."""
        try:
            found = tickets.search(database, query, status=status, limit=limit)
        except tickets.UnknownStatus as error:
            raise ToolError(str(error)) from error
        return json.dumps(found, ensure_ascii=False)

    @server.tool(structured_output=False)
    async def null() -> str:
        """Answer at once with an empty text: what a call costs when the tool does nothing."""
        return ""

    return server


if __name__ == "__main__":
    main()
