# FastMCP has an environment of its own, which the type checker does not see.
# mypy: disable-error-code="import-not-found,untyped-decorator"
"""A ticket desk on FastMCP 4, with the same tools as on the Python SDK."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

import flags
import tickets

Tool: TypeAlias = tuple[Callable[..., Awaitable[str]], str]


def main() -> None:
    """Serve on the transport that the command line names."""
    asked = flags.read(__doc__)
    server = desk(tickets.opened(asked.database), flags.names(asked.tools))
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


def desk(database: sqlite3.Connection, names: Sequence[str]) -> FastMCP:
    """The server with these tools: coroutines, since FastMCP gives plain functions a thread."""
    server = FastMCP("tickets-fastmcp", version="1")

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
        server.tool(function, name=name, description=about, output_schema=None)
    return server


if __name__ == "__main__":
    main()
