"""Another of these servers over Streamable HTTP, by NAME; its refusals come with HTTP STATUS.

`idless` leaves the id out of them, as for a message that could not be read; `plain` says nothing of
JSON-RPC at all.
"""

import importlib
import sys

from tests.servers.trivial import Message, encoded
from tests.servers.trivial_http import Handler, serve

_, PORT, NAME, STATUS, *MORE = sys.argv
sys.argv = [NAME, PORT, *MORE]
answer = importlib.import_module(f"tests.servers.{NAME}").answer


class Wrapped(Handler):
    """Answers as the other one does."""

    def posted(self, message: Message) -> None:
        """Its reply, with the status that was asked for where it refuses."""
        reply = answer(message)
        refused = "error" in reply
        if refused and "idless" in MORE:
            reply["id"] = None
        if refused and "plain" in MORE:
            return self.respond(int(STATUS), b"Bad Request", "text/plain")
        self.respond(int(STATUS) if refused else 200, encoded(reply))


serve(Wrapped)
