# mypy: ignore-errors
"""A `FastMCP` of the Python SDK 1.x, with an async and a sync tool."""

import uvicorn
from mcp.server.fastmcp import FastMCP
from options import parse, spun

options = parse()
server = FastMCP("fastmcp1", json_response=options.json, stateless_http=options.stateless)


@server.tool()
async def spin(work_ns: int) -> str:
    return spun(work_ns)


@server.tool()
def spin_sync(work_ns: int) -> str:
    return spun(work_ns)


@server.tool()
async def echo(text: str) -> str:
    return text


if options.http:
    app = server.streamable_http_app()
    uvicorn.run(app, port=0, http=options.parser, loop=options.loop)
else:
    server.run("stdio")
