# mypy: ignore-errors
"""A server of the separate FastMCP package, with an async and a sync tool."""

import uvicorn
from fastmcp import FastMCP
from options import parse, spun

server = FastMCP("fastmcp4")
options = parse()


@server.tool
async def spin(work_ns: int) -> str:
    return spun(work_ns)


@server.tool
def spin_sync(work_ns: int) -> str:
    return spun(work_ns)


@server.tool
async def echo(text: str) -> str:
    return text


if options.http:
    app = server.http_app(json_response=options.json, stateless_http=options.stateless)
    uvicorn.run(app, port=0, http=options.parser, loop=options.loop)
else:
    server.run("stdio", show_banner=False)
