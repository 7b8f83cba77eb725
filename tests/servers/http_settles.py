"""Accepts `initialized` and is ready 50 ms later; until then every request is refused (W12)."""

import time

from tests.servers.trivial import Message, encoded, refusal, reply_to
from tests.servers.trivial_http import Handler, serve

SETTLING_S = 0.05


class Settling(Handler):
    """One connection."""

    ready_s = float("inf")

    def do_POST(self) -> None:
        """One message; `initialized` begins the wait."""
        super().do_POST()
        if Handler.requests[-1]["message"]["method"] == "notifications/initialized":
            Settling.ready_s = time.monotonic() + SETTLING_S

    def posted(self, message: Message) -> None:
        """Answer, or refuse."""
        early = message["method"] != "initialize" and time.monotonic() < Settling.ready_s
        told = refusal(message["id"], -32600, "must send initialized first")
        self.respond(200, encoded(told if early else reply_to(message)))


serve(Settling)
