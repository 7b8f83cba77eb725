"""Ends its event stream some time after the reply: a client that leaves early reconnects (L3).

With `never` as second argument it does not end the stream at all.
"""

import select
import sys

from tests.servers.trivial import Message, reply_to
from tests.servers.trivial_http import SSE, Handler, event, serve

LATE_S = 0.002


class Late(Handler):
    """The reply, a pause, and the end."""

    def posted(self, message: Message) -> None:
        """One chunk, and later the last one."""
        body = event(reply_to(message))
        self.head(200, SSE, Transfer_Encoding="chunked")
        self.write(b"%x\r\n%s\r\n" % (len(body), body))
        if "never" in sys.argv:
            self.rfile.read(1)
            return
        select.select([], [], [], LATE_S)
        self.write(b"0\r\n\r\n")


serve(Late)
