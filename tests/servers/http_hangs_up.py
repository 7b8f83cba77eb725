"""Closes the connection after each reply and does not say so beforehand (case L6)."""

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import Handler, serve


class HangingUp(Handler):
    """Keep-alive by its headers, but gone."""

    def posted(self, message: Message) -> None:
        """A whole reply, and the end of the connection right after it."""
        self.respond(200, encoded(reply_to(message)))
        self.close_connection = True


serve(HangingUp)
