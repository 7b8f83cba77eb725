# FastMCP has an environment of its own, which the type checker does not see.
# mypy: disable-error-code="import-not-found,untyped-decorator"
"""A ticket desk on FastMCP 4, with the same two tools as on the Python SDK."""

import sqlite3

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

import flags
import tickets


def main() -> None:
    """Serve on the transport that the command line names."""
    asked = flags.read(__doc__)
    server = desk(tickets.opened(asked.database))
    if asked.http is None:
        server.run("stdio", show_banner=False)
    else:
        server.run(
            "http",
            show_banner=False,
            host="127.0.0.1",
            port=asked.http,
            log_level="error",
            json_response=asked.json,
            stateless_http=asked.stateless,
        )


def desk(database: sqlite3.Connection) -> FastMCP:
    """The server with its two tools: coroutines, since FastMCP gives plain functions a thread."""
    server = FastMCP("tickets-fastmcp", version="1")

    @server.tool(output_schema=None, description=flags.SEARCH_TICKETS)
    async def search_tickets(query: str, status: str = "open", limit: int = 10) -> str:
        try:
            return tickets.answer(database, query, status=status, limit=limit)
        except tickets.UnknownStatus as error:
            raise ToolError(str(error)) from error

    @server.tool(output_schema=None, description=flags.NULL)
    async def null() -> str:
        return ""

    return server


if __name__ == "__main__":
    main()
