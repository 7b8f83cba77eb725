"""Answers calls in ways that hold no reply, and in two that do: one way a call (case W9)."""

from collections.abc import Callable

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import JSON, SSE, Handler, event, serve

PROGRESS = event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})


def twice(handler: Handler, message: Message) -> None:
    """The reply comes two times on its stream."""
    handler.stream([event(reply_to(message))] * 2)


def accepted_with_stream(handler: Handler, message: Message) -> None:
    """Status 202, and yet a reply."""
    handler.respond(202, event(reply_to(message)), SSE)


def accepted(handler: Handler, message: Message) -> None:  # noqa: ARG001
    """Status 202 and nothing."""
    handler.respond(202)


def empty(handler: Handler, message: Message) -> None:  # noqa: ARG001
    """Status 200 and nothing."""
    handler.respond(200)


def cut_short(handler: Handler, message: Message) -> None:  # noqa: ARG001
    """An event stream that ends before the reply."""
    handler.stream([PROGRESS])


def hung_up(handler: Handler, message: Message) -> None:
    """Half a reply, and the connection is gone."""
    body = encoded(reply_to(message))
    handler.head(200, JSON, Content_Length=str(len(body)))
    handler.write(body[:10])
    handler.close_connection = True


def failed(handler: Handler, message: Message) -> None:  # noqa: ARG001
    """A proxy's words."""
    handler.respond(502, b"<html>bad gateway</html>", "text/html")


WAYS: tuple[Callable[[Handler, Message], None], ...] = (
    twice,
    accepted_with_stream,
    accepted,
    empty,
    cut_short,
    hung_up,
    failed,
)


class Way(Handler):
    """The calls go through WAYS in turn."""

    calls = 0

    def posted(self, message: Message) -> None:
        """Calls badly, all else well."""
        if message["method"] != "tools/call":
            return super().posted(message)
        way = WAYS[Way.calls % len(WAYS)]
        Way.calls += 1
        way(self, message)


serve(Way)
