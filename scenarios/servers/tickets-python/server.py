"""A ticket desk as an MCP server on the Python SDK 2: both transports, both eras, one real tool."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import flags
import tickets

Tool: TypeAlias = tuple[Callable[..., Awaitable[str]], str]


def main() -> None:
    """Serve on the transport that the command line names."""
    asked = flags.read(__doc__)
    server = desk(tickets.opened(asked.database), flags.names(asked.tools))
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


def desk(database: sqlite3.Connection, names: Sequence[str]) -> MCPServer[dict[str, object]]:
    """The server with these tools: coroutines, since the SDK gives plain functions a thread."""
    server: MCPServer[dict[str, object]] = MCPServer(
        "tickets-python", version="1", log_level="ERROR"
    )

    async def search_tickets(query: str, status: str = "open", limit: int = 10) -> str:
        try:
            return tickets.answer(database, query, status=status, limit=limit)
        except tickets.UnknownStatus as error:
            raise ToolError(str(error)) from error

    async def null() -> str:
        return ""

    async def read_log(letters: int) -> str:
        return flags.log(letters)

    others: Mapping[str, Tool] = {
        "null": (null, flags.NULL),
        "read_log": (read_log, flags.READ_LOG),
    }
    for name in names:
        function, about = others.get(name, (search_tickets, flags.SEARCH_TICKETS))
        server.add_tool(function, name=name, description=about, structured_output=False)
    return server


if __name__ == "__main__":
    main()
