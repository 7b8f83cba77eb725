"""Closes the connection after the reply to each call and does not say so beforehand (L6).

`GET /seen` counts as `hung_up` the connections that are closed by then.
"""

import socket

from tests.servers.trivial import Message, encoded, is_call, reply_to
from tests.servers.trivial_http import Handler, serve


class HangingUp(Handler):
    """Keep-alive by its headers, but gone."""

    def posted(self, message: Message) -> None:
        """A whole reply, and the end of the connection right after it."""
        self.respond(200, encoded(reply_to(message)))
        if is_call(message):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_WR)
            Handler.hung_up += 1


serve(HangingUp)
