"""Asks the client 1,000 things on the response stream of a call, and waits for no answer."""

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import Handler, event, serve


class Flood(Handler):
    """Calls ask before they answer."""

    def posted(self, message: Message) -> None:
        """All in one chunk, then the reply."""
        if message["method"] != "tools/call":
            return self.respond(200, encoded(reply_to(message)))
        asked = [{"jsonrpc": "2.0", "id": f"q{n}", "method": "ping"} for n in range(1_000)]
        self.stream([b"".join(map(event, asked)), event(reply_to(message))])


serve(Flood)
