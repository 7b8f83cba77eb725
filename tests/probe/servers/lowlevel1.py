# mypy: ignore-errors
"""A low-level `Server` of the Python SDK 1.x."""

import contextlib

import anyio
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from options import parse, spun
from starlette.applications import Starlette
from starlette.routing import Route

server = Server("lowlevel1")
options = parse()


@server.list_tools()
async def tools():
    number = {"type": "object", "properties": {"work_ns": {"type": "integer"}}}
    text = {"type": "object", "properties": {"text": {"type": "string"}}}
    return [
        types.Tool(name="spin", inputSchema=number),
        types.Tool(name="echo", inputSchema=text),
    ]


@server.call_tool()
async def call(name, arguments):
    text = spun(arguments["work_ns"]) if name == "spin" else str(arguments.get("text"))
    return [types.TextContent(type="text", text=text)]


async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if options.http:
    manager = StreamableHTTPSessionManager(
        server, json_response=options.json, stateless=options.stateless
    )

    class Endpoint:
        async def __call__(self, scope, receive, send):
            await manager.handle_request(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        async with manager.run():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=Endpoint())], lifespan=lifespan)
    uvicorn.run(app, port=0, http=options.parser, loop=options.loop)
else:
    anyio.run(main)
