# mypy: ignore-errors
"""An `MCPServer` of the Python SDK 2.x, with an async and a sync tool."""

import uvicorn
from mcp.server.mcpserver import MCPServer
from options import parse, spun

server = MCPServer("mcpserver2")


@server.tool()
async def spin(work_ns: int) -> str:
    return spun(work_ns)


@server.tool()
def spin_sync(work_ns: int) -> str:
    return spun(work_ns)


@server.tool()
async def echo(text: str) -> str:
    return text


options = parse()
if options.http:
    app = server.streamable_http_app(json_response=options.json, stateless_http=options.stateless)
    uvicorn.run(app, port=0, http=options.parser, loop=options.loop)
else:
    server.run("stdio")
