# mypy: ignore-errors
"""A low-level `Server` of the Python SDK 2.x."""

from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from options import parse, spun

NUMBER = {"type": "object", "properties": {"work_ns": {"type": "integer"}}}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


async def tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(name="spin", input_schema=NUMBER),
            types.Tool(name="echo", input_schema=TEXT),
        ]
    )


async def call(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    text = spun(arguments["work_ns"]) if params.name == "spin" else str(arguments.get("text"))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server: Server[Any] = Server("lowlevel2", on_list_tools=tools, on_call_tool=call)
options = parse()


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if options.http:
    app = server.streamable_http_app(json_response=options.json, stateless_http=options.stateless)
    uvicorn.run(app, port=0, http=options.parser, loop=options.loop)
else:
    anyio.run(main)
