"""Says in `Server-Timing` how long its tool took; as `liar`, a second more than that."""

import sys
import time

from tests.servers.trivial import Message, encoded, is_call, reply_to
from tests.servers.trivial_http import Handler, serve

SPIN_NS = 3_000_000


class SaysTime(Handler):
    """Two headers of that name, which mean one list; the stranger in it is not the tool."""

    def posted(self, message: Message) -> None:
        """Spin, where a tool is asked for."""
        if not is_call(message):
            return self.respond(200, encoded(reply_to(message)))
        began_ns = time.perf_counter_ns()
        while time.perf_counter_ns() - began_ns < SPIN_NS:
            pass
        took_ns = time.perf_counter_ns() - began_ns + 10**9 * ("liar" in sys.argv)
        handler = f"handler;dur={took_ns / 1e6:.6f}"
        self.respond(
            200, encoded(reply_to(message)), server_timing="db;dur=1", Server_Timing=handler
        )


serve(SaysTime)
