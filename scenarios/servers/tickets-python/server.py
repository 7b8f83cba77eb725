"""A ticket desk as an MCP server on the Python SDK 2: both transports, both eras, one real tool."""

import sqlite3

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import flags
import tickets


def main() -> None:
    """Serve on the transport that the command line names."""
    asked = flags.read(__doc__)
    server = desk(tickets.opened(asked.database))
    if asked.http is None:
        server.run("stdio")
    else:
        server.run(
            "streamable-http",
            host="127.0.0.1",
            port=asked.http,
            json_response=asked.json,
            stateless_http=asked.stateless,
        )


def desk(database: sqlite3.Connection) -> MCPServer[dict[str, object]]:
    """The server with its two tools: coroutines, since the SDK gives plain functions a thread."""
    server: MCPServer[dict[str, object]] = MCPServer(
        "tickets-python", version="1", log_level="ERROR"
    )

    @server.tool(structured_output=False, description=flags.SEARCH_TICKETS)
    async def search_tickets(query: str, status: str = "open", limit: int = 10) -> str:
        try:
            return tickets.answer(database, query, status=status, limit=limit)
        except tickets.UnknownStatus as error:
            raise ToolError(str(error)) from error

    @server.tool(structured_output=False, description=flags.NULL)
    async def null() -> str:
        return ""

    return server


if __name__ == "__main__":
    main()
