"""Keeps a session, and refuses what a strict server refuses: a wrong session id or version.

The first `initialize` is turned away with an id that is not to be kept.
"""

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import JSON, Handler, serve

WRONG, RIGHT = "turned-away", "session-1"


class Keeping(Handler):
    """Checks every request after `initialize`."""

    turned_away = False
    version = ""

    def do_POST(self) -> None:
        """A message, if the session and the version are those that were agreed."""
        if self.headers.get("Mcp-Session-Id") is not None and not self.is_right():
            self.note(None)
            return self.respond(400, b"wrong session or version")
        super().do_POST()

    def posted(self, message: Message) -> None:
        """`initialize` opens the session; all else needs it."""
        if message["method"] == "initialize":
            return self.opened(message)
        if not self.is_right():
            return self.respond(400, b"no session")
        self.respond(200, encoded(reply_to(message)))

    def opened(self, message: Message) -> None:
        """Refused once, then agreed."""
        if not Keeping.turned_away and self.path == "/busy":
            Keeping.turned_away = True
            return self.respond(503, b"{}", JSON, Mcp_Session_Id=WRONG)
        reply = reply_to(message)
        assert reply is not None
        Keeping.version = reply["result"]["protocolVersion"]
        self.respond(200, encoded(reply), JSON, Mcp_Session_Id=RIGHT)

    def do_DELETE(self) -> None:
        """The end of the session."""
        self.note(None)
        self.respond(204 if self.is_right() else 400)

    def is_right(self) -> bool:
        """The session, and from 2025-06-18 on the version, as agreed."""
        wanted = Keeping.version if Keeping.version >= "2025-06-18" else None
        return (
            self.headers.get("Mcp-Session-Id") == RIGHT
            and self.headers.get("MCP-Protocol-Version") == wanted
        )


serve(Keeping)
