"""Speaks 2026-07-28 and refuses every header that does not say what the body says (case M3)."""

import base64

from tests.servers.trivial import STATELESS, Message, encoded, refusal, reply_to
from tests.servers.trivial_http import Handler, serve

TOOL = "groesse-ß"
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {
            "type": "object",
            "properties": {"limit": {"type": "integer", "x-mcp-header": "Limit"}},
        },
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    },
}
MISMATCH = -32020


def plain(value: str | None) -> str | None:
    """What a header value stands for."""
    if value is not None and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


class Strict(Handler):
    """Compares, then answers."""

    def posted(self, message: Message) -> None:
        """A reply, or the name of the header that is wrong."""
        wanted = dict(expected(message))
        wrong = [name for name in wanted if plain(self.headers.get(name)) != wanted[name]]
        if message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] != STATELESS:
            wrong.append("_meta")
        if wrong:
            words = f"HeaderMismatch: {', '.join(wrong)}"
            return self.respond(400, encoded(refusal(message["id"], MISMATCH, words)))
        self.respond(200, encoded(listed(message) or reply_to(renamed(message))))


def expected(message: Message) -> list[tuple[str, str | None]]:
    """Each header with what the body says."""
    params = message["params"]
    arguments = params.get("arguments", {})
    mirrored = [
        ("Mcp-Param-Region", arguments.get("region")),
        ("Mcp-Param-Limit", word(arguments.get("size", {}).get("limit"))),
        ("Mcp-Param-Dry", word(arguments.get("dry"))),
    ]
    return [
        ("MCP-Protocol-Version", STATELESS),
        ("Mcp-Method", message["method"]),
        ("Mcp-Name", params.get("name")),
        *mirrored,
    ]


def word(value: int | None) -> str | None:
    """A number or a truth value as JSON writes it."""
    return None if value is None else encoded(value).decode()


def listed(message: Message) -> Message | None:
    """Our one tool, for who asks for the list."""
    if message["method"] != "tools/list":
        return None
    tools = [{"name": TOOL, "inputSchema": SCHEMA}]
    return {
        "jsonrpc": "2.0",
        "id": message["id"],
        "result": {"resultType": "complete", "tools": tools},
    }


def renamed(message: Message) -> Message:
    """What the trivial server calls echo."""
    if message["params"].get("name") == TOOL:
        return {**message, "params": {**message["params"], "name": "echo"}}
    return message


serve(Strict)
