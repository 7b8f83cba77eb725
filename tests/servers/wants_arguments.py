"""Every tool of it wants arguments, and says so where they are missing."""

from tests.servers import trivial
from tests.servers.trivial import Message, reply_to, serve

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["text", "times"],
}
trivial.TOOLS[:] = [{"name": "repeat", "inputSchema": SCHEMA}]


def answer(message: Message) -> Message | None:
    """A tool's own error for a call without them."""
    if message["method"] == "tools/call" and "times" not in message["params"]["arguments"]:
        content = [{"type": "text", "text": "times: a whole number is wanted"}]
        result = {"resultType": "complete", "content": content, "isError": True}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return reply_to(message)


if __name__ == "__main__":
    serve(answer)
