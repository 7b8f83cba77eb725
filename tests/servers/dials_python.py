"""The dials of `tests.servers.dials` on the Python SDK: `mcpserver` or `lowlevel`, then a port."""

from tests.servers.dials import SCHEMAS, Dials

DIALS = Dials()
DIALS.spin("import")

import contextlib  # noqa: E402
import sys  # noqa: E402
from collections.abc import AsyncIterator, Mapping  # noqa: E402
from typing import Any  # noqa: E402

import anyio  # noqa: E402
import mcp_types as types  # noqa: E402
import uvicorn  # noqa: E402
from mcp.server.lowlevel import Server  # noqa: E402
from mcp.server.mcpserver import MCPServer  # noqa: E402
from mcp.server.stdio import stdio_server  # noqa: E402

UNWRITTEN: dict[object, Mapping[str, Any]] = {}  # request id -> arguments, until it is serialised


async def around(ctx: Any, call_next: Any) -> Any:
    """Middleware: the dials before and after the handler."""
    params = ctx.params or {}
    if ctx.method != "tools/call" or params.get("name") != "turn":
        return await call_next(ctx)
    arguments = params.get("arguments") or {}
    DIALS.spin("before", arguments)
    result = await call_next(ctx)
    DIALS.spin("after", arguments)
    UNWRITTEN[ctx.request_id] = arguments
    return result


def before_the_write(name: str) -> None:
    """Take the last dial where the SDK turns a reply into text, on every transport and era."""
    original = getattr(types.JSONRPCResponse, name)

    def written(self: types.JSONRPCResponse, **options: Any) -> Any:
        arguments = UNWRITTEN.pop(self.id, None)
        text = original(self, **options)
        if arguments is not None:
            DIALS.spin("write", arguments)
        return text

    setattr(types.JSONRPCResponse, name, written)


@contextlib.asynccontextmanager
async def lifespan(_server: object) -> AsyncIterator[None]:
    """Runs when the SDK serves and has read nothing yet; over HTTP, before it listens."""
    DIALS.spin("serving")
    yield


def mcpserver() -> MCPServer[None]:
    """The high-level server."""
    server = MCPServer("dials", middleware=[around], lifespan=lifespan)

    @server.tool()
    async def turn(call: int, dials: dict[str, int]) -> str:
        return DIALS.work({"call": call, "dials": dials})

    @server.tool()
    async def log() -> str:
        return DIALS.told()

    @server.tool()
    async def null() -> str:
        return ""

    return server


async def called(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The tools, at the low level."""
    text = ""
    if params.name == "turn":
        text = DIALS.work(params.arguments or {})
    elif params.name == "log":
        text = DIALS.told()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def listed(_ctx: Any, _params: Any) -> types.ListToolsResult:
    """Their schemas."""
    tools = [types.Tool(name=name, input_schema=dict(one)) for name, one in SCHEMAS.items()]
    return types.ListToolsResult(tools=tools)


def lowlevel() -> Server[Any]:
    """The low-level server."""
    server: Server[Any] = Server(
        "dials", lifespan=lifespan, on_list_tools=listed, on_call_tool=called
    )
    server.middleware.append(around)
    return server


async def over_stdio(server: Server[Any]) -> None:
    """The low-level server; the other has a method for it."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve standard input, or the port."""
    kind, *port = sys.argv[1:]
    server = mcpserver() if kind == "mcpserver" else lowlevel()
    before_the_write("model_dump_json")
    before_the_write("model_dump")
    if port:
        uvicorn.run(server.streamable_http_app(), port=int(port[0]), log_level="warning")
    elif isinstance(server, MCPServer):
        server.run("stdio")
    else:
        anyio.run(over_stdio, server)


if __name__ == "__main__":
    main()
