"""Asks the client on the response stream of a call, under our own ids, and waits (case W11)."""

import queue
from typing import Any

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import SSE, Handler, event, serve

answers: queue.Queue[Message] = queue.Queue()


class Asking(Handler):
    """Both answers come as POSTs of their own and are given back as the text of the call."""

    def note(self, message: Message | None) -> None:
        """An answer is handed to the call that waits for it."""
        super().note(message)
        if message is not None and "method" not in message:
            answers.put(message)

    def posted(self, message: Message) -> None:
        """A call asks before it answers."""
        reply: Any = reply_to(message)
        if message["method"] != "tools/call":
            return self.respond(200, encoded(reply))
        self.head(200, SSE, Transfer_Encoding="chunked")
        given = [self.asked(message["id"], method) for method in ("ping", "roots/list")]
        reply["result"]["content"] = [{"type": "text", "text": repr(given)}]
        self.chunk(event(reply))
        self.write(b"0\r\n\r\n")

    def asked(self, id: int, method: str) -> Message:
        """One question, and the answer to it."""
        self.chunk(event({"jsonrpc": "2.0", "id": id, "method": method}))
        return answers.get(timeout=20)

    def chunk(self, data: bytes) -> None:
        """One chunk."""
        self.write(b"%x\r\n%s\r\n" % (len(data), data))


serve(Asking)
