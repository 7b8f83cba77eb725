"""A wire without a transport: a server in this process, for whole runs in exact numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from bench.model import Endpoint, Outgoing, Reply
from bench.recorder import Recorder
from bench.wire.conversation import Conversation

Responder = Callable[[bytes], Iterable[bytes]]

SERVERS: dict[str, Responder] = {}


async def open(endpoint: Endpoint, recorder: Recorder) -> MemoryWire:
    """A wire to the responder that SERVERS has under the endpoint's URL."""
    assert endpoint.url is not None
    recorder.mark("connecting")
    wire = MemoryWire(SERVERS[endpoint.url], recorder)
    recorder.mark("connected")
    return wire


class MemoryWire:
    """Hands each message to the responder and takes what it answers, at once and in order."""

    closing_cancels = False
    session_lost = False

    def __init__(self, respond: Responder, recorder: Recorder) -> None:
        self.response_form: str | None = "line"
        self.closed = False
        self._respond = respond
        self._clock = recorder.clock
        self.conversation = self._talk = Conversation(recorder)

    async def exchange(self, out: Outgoing, *, limit_s: float) -> Reply:
        """Ask the responder; without a reply of it, the limit runs out."""
        waiting = self._talk.expect(out)
        waiting.sent_ns = self._clock()
        waiting.written_ns = self._clock()
        self._talk.sent(out, waiting.sent_ns)
        bodies = deque(self._respond(out.body))
        while bodies:
            answer = self._talk.incoming(bodies.popleft(), self._clock())
            if answer is not None:
                self._talk.answered(answer, self._clock())
                bodies.extendleft(self._respond(answer.body))
        return await self._talk.outcome(waiting, limit_s)

    async def notify(self, out: Outgoing, *, limit_s: float) -> Reply:  # noqa: ARG002
        """Hand it over; a notification has no answer to wait for."""
        sent_ns = self._clock()
        self._talk.sent(out, sent_ns)
        list(self._respond(out.body))
        written_ns = self._clock()
        return Reply("ok", sent_ns, written_ns, received_ns=written_ns)

    async def listen(self) -> None:
        """Whatever the server says comes the same way."""

    def forget_session(self) -> None:
        """There is none apart from the connection."""

    async def close(self) -> None:
        """There is nothing to end."""

    def end_input(self) -> bool:
        """There is none."""
        return False

    def finish(self) -> None:
        """There is nothing to give back."""
