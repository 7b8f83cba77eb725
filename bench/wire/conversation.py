"""Who waits for which reply on one connection: matched by id only, whatever arrives in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import anyio

from bench import jsonrpc
from bench.jsonrpc import Envelope
from bench.model import Kind, Outcome, Outgoing, Reply, Scripted
from bench.recorder import Recorder
from bench.wire import faults
from bench.wire.lines import LIMIT_BYTES

PROGRESS = "notifications/progress"


class Waiting:
    """A request that has no reply yet, with the stamps it has so far."""

    __slots__ = (
        "asked_ns",
        "first_byte_ns",
        "future",
        "out",
        "progress_ns",
        "sent_ns",
        "think_ns",
        "written_ns",
    )

    def __init__(self, out: Outgoing, future: asyncio.Future[Reply]) -> None:
        self.out = out
        self.future = future
        self.sent_ns = 0
        self.written_ns: int | None = None
        self.first_byte_ns: int | None = None
        self.progress_ns: int | None = None
        self.think_ns: int | None = None
        self.asked_ns: int | None = None


class Answer(NamedTuple):
    """What we owe the server for a request of its own, which was there at `asked_ns`."""

    body: bytes
    id: jsonrpc.Id
    asked_ns: int
    think_s: float = 0.0


class Conversation:
    """The open requests of one launch, and what each incoming message means for them."""

    def __init__(self, recorder: Recorder, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self.recorder = recorder
        self.script: Mapping[str, Scripted] = {}
        self.endless: set[int] = set()  # requests that stay open: their reply is the end, if any
        self._events: dict[str, asyncio.Future[int]] = {}
        self.limit_bytes = limit_bytes
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, Waiting] = {}
        self._answered: set[int] = set()
        self._suspicion = faults.Suspicion()

    def expect(self, out: Outgoing) -> Waiting:
        """Register a message before it is sent; only one with an id can be matched to a reply."""
        waiting = Waiting(out, self._loop.create_future())
        if out.id is not None:
            self._waiting[out.id] = waiting
        return waiting

    def sent(self, out: Outgoing, at_ns: int) -> None:
        """Keep the message that went out at `at_ns`."""
        kind: Kind = "notification" if out.id is None else "request"
        self.recorder.message(at_ns, "out", kind, out.body, method=out.method, id=out.id)

    def answered(self, answer: Answer, at_ns: int) -> None:
        """Keep our own reply to a request of the server; until then it waited for us."""
        self.recorder.message(at_ns, "out", "response", answer.body, id=answer.id)
        for waiting in self._waiting.values():
            waiting.think_ns = (waiting.think_ns or 0) + at_ns - answer.asked_ns
            waiting.asked_ns = waiting.asked_ns or answer.asked_ns

    def awaited(self, method: str) -> asyncio.Future[int]:
        """When the next notification of this method is there, ns."""
        event: asyncio.Future[int] = self._loop.create_future()
        self._events[method] = event
        return event

    async def outcome(self, waiting: Waiting, limit_s: float) -> Reply:
        """The reply, or what became of the request instead, at the latest after `limit_s`."""
        with anyio.move_on_after(limit_s):
            return await waiting.future
        return self.timed_out(waiting, limit_s)

    def timed_out(self, waiting: Waiting, limit_s: float) -> Reply:
        """The reply that stands for one that did not come in time."""
        self.forget(waiting.out)
        return self.failed(waiting, "timeout", f"no reply within {limit_s:g} s")

    def forget(self, out: Outgoing) -> None:
        """A later reply to this request is a late one, not a reply to anything else."""
        if out.id is not None:
            self._waiting.pop(out.id, None)
            self._answered.add(out.id)

    def incoming(
        self,
        body: bytes,
        at_ns: int,
        *,
        first_byte_ns: int | None = None,
        http_status: int | None = None,
    ) -> Answer | None:
        """Take one message that was complete at `at_ns`; what we owe the server for it."""
        envelope = jsonrpc.read(body)
        decoded_ns = self.recorder.clock()
        if envelope is None or (kind := envelope.kind) == "noise":
            self.recorder.noise_line(at_ns, body)
            self._noise(body)
            return None
        if kind == "response" and not self._unreadable(envelope, body):
            self._reply(envelope, body, at_ns, first_byte_ns or at_ns, decoded_ns, http_status)
        id = envelope.id if isinstance(envelope.id, int | float | str) else None
        method = envelope.method if isinstance(envelope.method, str) else None
        self.recorder.message(
            at_ns, "in", kind, body, method=method, id=id, http_status=http_status
        )
        if kind == "notification":
            self._notified(method, body, at_ns)
        if kind != "request":
            return None
        self.recorder.count("server_requests")
        return self._owed(envelope, id, at_ns)

    def _owed(self, envelope: Envelope, id: jsonrpc.Id, at_ns: int) -> Answer:
        """What the script says to a request of the server; without a word in it, a refusal."""
        scripted = self.script.get(str(envelope.method))
        if scripted is None:
            return Answer(jsonrpc.answer(envelope), id, at_ns)
        return Answer(jsonrpc.response(id, scripted.result), id, at_ns, scripted.think_s)

    def _notified(self, method: str | None, body: bytes, at_ns: int) -> None:
        event = self._events.pop(method, None) if method is not None else None
        if event is not None and not event.done():
            event.set_result(at_ns)
        if method == PROGRESS:
            waiting = self._waiting.get(jsonrpc.progress_token(body))  # type: ignore[arg-type]
            if waiting is not None and waiting.progress_ns is None:
                waiting.progress_ns = at_ns

    def _noise(self, line: bytes) -> None:
        """Noise is passed over, unless it proves to be the reply to an open request."""
        fault = self._suspicion.after(line, heard=bool(self._answered))
        if fault is None:
            return
        known = self._waiting.get(fault.id) if isinstance(fault.id, int) else None
        if known is not None:
            self.lost_one(known, fault.why)
        elif fault.id is None:
            self.lost(fault.why)

    def _unreadable(self, envelope: Envelope, body: bytes) -> bool:
        """Whether the text of a reply is none; its call then ends with what is wrong."""
        fault = faults.of_text(body)
        if fault is None:
            return False
        waiting = self._waiting.get(envelope.id)  # type: ignore[arg-type]
        if waiting is not None:
            self.lost_one(waiting, fault)
        return True

    def lost(self, why: str, *, outcome: Outcome = "transport_error") -> None:
        """The connection is gone: every open request ends here, with `why`."""
        for waiting in list(self._waiting.values()):
            self.lost_one(waiting, why, outcome=outcome)

    def lost_one(
        self,
        waiting: Waiting,
        why: str,
        *,
        outcome: Outcome = "transport_error",
        error_code: int | None = None,
        http_status: int | None = None,
    ) -> None:
        """One request will get no reply any more."""
        if waiting.future.done():
            return
        self.forget(waiting.out)
        reply = self.failed(waiting, outcome, why)
        reply.error_code = error_code
        reply.http_status = http_status
        waiting.future.set_result(reply)

    def failed(self, waiting: Waiting, outcome: Outcome, why: str) -> Reply:
        """The reply that stands for a missing one."""
        return Reply(
            outcome=outcome,
            sent_ns=waiting.sent_ns,
            written_ns=waiting.written_ns,
            first_byte_ns=waiting.first_byte_ns,
            why=why,
        )

    def _reply(
        self,
        envelope: Envelope,
        body: bytes,
        at_ns: int,
        first_byte_ns: int,
        decoded_ns: int,
        http_status: int | None,
    ) -> None:
        # 1.0 is the number 1 to JSON, and to a dict.
        is_number = isinstance(envelope.id, int | float)
        waiting = self._waiting.pop(envelope.id, None) if is_number else None  # type: ignore[arg-type]
        if waiting is None or waiting.future.done():
            if envelope.id in self.endless:
                return
            known = envelope.id in self._answered
            self.recorder.count("duplicate_replies" if known else "stray_replies")
            return
        assert waiting.out.id is not None
        self._answered.add(waiting.out.id)
        waiting.future.set_result(
            Reply(
                outcome=envelope.outcome,
                sent_ns=waiting.sent_ns,
                written_ns=waiting.written_ns,
                first_byte_ns=first_byte_ns,
                received_ns=at_ns,
                decoded_ns=decoded_ns,
                error_code=envelope.error_code,
                body=body,
                http_status=http_status,
                think_ns=waiting.think_ns,
                asked_ns=waiting.asked_ns,
                progress_ns=waiting.progress_ns,
            )
        )
