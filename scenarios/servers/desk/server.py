"""A desk that asks back, reports, changes and takes its time: what MCP has beside plain calls."""

import argparse
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import Completion, CompletionArgument
from pydantic import BaseModel

NOTE = "desk://note"


class Yes(BaseModel):
    """What the client is asked for."""

    sure: bool


def ask() -> Elicit[Yes]:
    """The question: a request of the server's own, or `input_required`, as the era has it."""
    return Elicit("Close the ticket?", Yes)


def desk() -> MCPServer:
    """The server with its tools, resources, prompts and completion."""
    server = MCPServer("desk", version="1", log_level="ERROR")
    note = ["nothing yet"]
    add_tools(server, note)
    add_texts(server, note)
    return server


def add_tools(server: MCPServer, note: list[str]) -> None:
    """What can be called."""

    @server.tool(structured_output=False)
    async def null() -> str:
        """Do nothing."""
        return ""

    @server.tool(structured_output=False)
    async def close(ticket: str, answer: Annotated[Yes, Resolve(ask)]) -> str:
        """Close a ticket, if the user is sure."""
        return f"{ticket}: {'closed' if answer.sure else 'left open'}"

    @server.tool(structured_output=False)
    async def sort(steps: int, context: Context) -> str:
        """Work in steps, and report each of them."""
        for step in range(steps):
            await context.report_progress(step + 1, steps)
        return "sorted"

    @server.tool(structured_output=False)
    async def write(text: str, context: Context) -> str:
        """Change the note, and tell who listens."""
        note[0] = text
        await context.notify_resource_updated(NOTE)
        await context.session.send_resource_updated(NOTE)
        return "written"

    @server.tool(structured_output=False)
    async def wait(seconds: float) -> str:
        """Take so long, unless cancelled."""
        await anyio.sleep(seconds)
        return "waited"


def add_texts(server: MCPServer, note: list[str]) -> None:
    """What can be read, prompted and completed."""

    @server.resource(NOTE)
    async def read_note() -> str:
        """The note."""
        return note[0]

    @server.resource("desk://ticket/{number}")
    async def ticket(number: str) -> str:
        """One ticket."""
        return f"ticket {number}"

    @server.prompt()
    async def reply(tone: str) -> str:
        """A reply to a customer."""
        return f"Write a {tone} reply."

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        _reference: object, argument: CompletionArgument, _context: object
    ) -> Completion:
        """What a tone may be."""
        tones = ("firm", "formal", "friendly")
        return Completion(values=[tone for tone in tones if tone.startswith(argument.value)])


def main() -> None:
    """Serve on standard input, or on the port that is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int)
    port = parser.parse_args().http
    if port is None:
        desk().run("stdio")
    else:
        desk().run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
