"""Tells its progress four times in the course of a call; the path says what lies in between (L8).

`/direct`: nothing; `/buffered`: what holds all back until the end; `/gzip`: what compresses.
"""

import gzip
import time
from collections.abc import Iterator

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import JSON, Handler, event, serve

PAUSE_S = 0.03
NOTE = event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})


class Progress(Handler):
    """Calls take a while."""

    def posted(self, message: Message) -> None:
        """One way or the other."""
        body = encoded(reply_to(message))
        if message["method"] != "tools/call":
            return super().posted(message)
        if self.path == "/gzip":
            return self.respond(200, gzip.compress(body), JSON, Content_Encoding="gzip")
        events = self.told(event(reply_to(message)))
        self.stream(events if self.path == "/direct" else [b"".join(events)])

    def told(self, last: bytes) -> Iterator[bytes]:
        """Four events with pauses, and the reply."""
        for _ in range(4):
            yield NOTE
            time.sleep(PAUSE_S)
        yield last


serve(Progress)
