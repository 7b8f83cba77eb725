"""Sends 10,000 notifications on the stream of each call before its reply (case W15)."""

from tests.servers.floods_notifications import FLOOD, NEWS
from tests.servers.trivial import Message, reply_to
from tests.servers.trivial_http import Handler, event, serve


class Flood(Handler):
    """Calls are answered after the flood."""

    def posted(self, message: Message) -> None:
        """A hundred notifications a chunk."""
        if message["method"] != "tools/call":
            return super().posted(message)
        hundred = (b"data: " + NEWS + b"\n\n") * 100
        self.stream([*[hundred] * (FLOOD // 100), event(reply_to(message))])


serve(Flood)
