"""The well-behaved server, but without a handshake: it does not know `initialize`."""

from tests.servers import trivial
from tests.servers.trivial import Message


def answer(message: Message) -> Message | None:
    """Its reply; an error to the handshake."""
    if message["method"] == "initialize":
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return trivial.reply_to(message)


if __name__ == "__main__":
    trivial.serve(answer)
