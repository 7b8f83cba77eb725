"""A ticket desk on the low-level server of the Python SDK 2: no models, no validation of ours."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import flags
import tickets

SEARCH: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "status": {"type": "string", "default": "open"},
        "limit": {"type": "integer", "default": 10},
    },
    "required": ["query"],
}
INPUTS: Mapping[str, Mapping[str, Any]] = {
    "null": {"type": "object", "properties": {}},
    "read_log": {
        "type": "object",
        "properties": {"letters": {"type": "integer"}},
        "required": ["letters"],
    },
}
ABOUT = {"null": flags.NULL, "read_log": flags.READ_LOG}


def main() -> None:
    """Serve on the transport that the command line names."""
    asked = flags.read(__doc__)
    server = desk(tickets.opened(asked.database), flags.names(asked.tools))
    if asked.http is None:
        anyio.run(piped, server)
    else:
        app = server.streamable_http_app(json_response=asked.json, stateless_http=asked.stateless)
        uvicorn.run(app, host="127.0.0.1", port=asked.http, log_level="error")


async def piped(server: Server[Any]) -> None:
    """Serve on stdio until the client closes it."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def desk(database: sqlite3.Connection, names: Sequence[str]) -> Server[Any]:
    """The server with these tools.

    `get_tool_input_schema` spares it a hidden tools/list in every call of the stateless era over
    HTTP; the high-level servers have it too.
    """

    inputs = {name: INPUTS.get(name, SEARCH) for name in names}

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=ABOUT.get(name, flags.SEARCH_TICKETS),
                    input_schema=dict(schema),
                )
                for name, schema in inputs.items()
            ]
        )

    async def call_tool(
        _: ServerRequestContext[Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = asked.arguments or {}
        if asked.name not in inputs:
            return told(f"Unknown tool: {asked.name}", is_error=True)
        if asked.name == "null":
            return told("")
        try:
            if asked.name == "read_log":
                return told(flags.log(**arguments))
            return told(tickets.answer(database, **arguments))
        except (tickets.UnknownStatus, TypeError) as error:
            return told(str(error), is_error=True)

    return Server(
        "tickets-lowlevel",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=inputs.get,
    )


def told(text: str, *, is_error: bool = False) -> types.CallToolResult:
    """A result that is one text."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=is_error
    )


if __name__ == "__main__":
    main()
