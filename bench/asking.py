"""One logical call: its rounds or pages, our thinking in between, the event it brings, its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import anyio
import msgspec

from bench import rounds
from bench.era import Era
from bench.model import Limits, Outgoing, Reply, Scripted, Step
from bench.recorder import Recorder
from bench.wire import Wire

LATE_REPLIES = "duplicate_replies"


class Ready(NamedTuple):
    """A step whose request is made, and its bytes."""

    step: Step
    out: Outgoing

    @property
    def body(self) -> bytes:
        """The request as it will be sent."""
        return self.out.body

    @property
    def id(self) -> int | None:
        """Its id."""
        return self.out.id


class Asker:
    """Asks one server what steps say, and answers what it asks from the script."""

    def __init__(
        self, wire: Wire, era: Era, ids: Iterator[int], *, limits: Limits, recorder: Recorder
    ) -> None:
        self.wire = wire
        self.era = era
        self.traceparent: Callable[[int], str] | None = None
        self._ids = ids
        self._limits = limits
        self._recorder = recorder
        self._script: Mapping[str, Scripted] = {}
        self._listening: set[asyncio.Task[Reply]] = set()

    def answer(self, script: Sequence[Scripted]) -> None:
        """From now on answer the server's own requests with what stands here."""
        self._script = {each.method: each for each in script}
        self.wire.conversation.script = self._script

    def ready(self, step: Step, more: Mapping[str, Any] | None = None) -> Ready:
        """The bytes of a step, made before its clock starts; `more` goes into its params."""
        id = next(self._ids)
        params = {**step.asked_params, **(more or {})}
        meta = dict(step.meta)
        if step.progress:
            meta["progressToken"] = id
        if self.traceparent is not None:
            meta["traceparent"] = self.traceparent(id)
        if meta:
            params["_meta"] = {**params.get("_meta", {}), **meta}
        return Ready(step, self.era.request(id, step.method, params))

    async def ask(self, ready: Ready) -> Reply:
        """The step done, as one reply; a failure is an outcome of it."""
        step = ready.step
        if step.cancel_after_s is not None:
            return await self._given_up(ready, step.cancel_after_s)
        event = None if step.event is None else self.wire.conversation.awaited(step.event)
        reply = await self._exchange(ready)
        again = rounds.again(step, reply, self._script)
        if again is not None:
            reply = await self._more(step, reply, again)
        if event is not None:
            reply.event_ns = await self._arrival(event)
        return reply

    async def listen(self, wanted: Mapping[str, Any]) -> None:
        """Subscribe as the era does, and wait until that is acknowledged; marks both moments."""
        recorder, conversation = self._recorder, self.wire.conversation
        subscription = self.era.subscription(wanted)
        if subscription.acknowledged_by is None:
            await self.wire.listen()
        for method, params in subscription.requests:
            ready = self.ready(Step(method=method, params=params))
            if subscription.acknowledged_by is None:
                reply = await self._exchange(ready)
                recorder.marks.setdefault("listen_sent", reply.sent_ns)
                recorder.marks["listen_acknowledged"] = reply.received_ns or recorder.clock()
                continue
            assert ready.id is not None
            conversation.endless.add(ready.id)
            event = conversation.awaited(subscription.acknowledged_by)
            recorder.mark("listen_sent")
            task = asyncio.ensure_future(self.wire.exchange(ready.out, limit_s=float("inf")))
            self._listening.add(task)
            with anyio.move_on_after(self._limits.setup_s):
                recorder.marks["listen_acknowledged"] = await event

    async def _exchange(self, ready: Ready) -> Reply:
        return await self.wire.exchange(ready.out, limit_s=self._limits.call_s)

    async def _more(self, step: Step, first: Reply, again: rounds.Again | None) -> Reply:
        """Further rounds, until nothing more is asked of us or they are too many."""
        made = [first]
        while again is not None and len(made) < rounds.MOST:
            if again.think_s:
                await anyio.sleep(again.think_s)
            made.append(await self._exchange(self.ready(step, again.params)))
            again = rounds.again(step, made[-1], self._script)
        return rounds.together(made, unfinished=again is not None)

    async def _arrival(self, event: asyncio.Future[int]) -> int | None:
        """When the notification was there; None, and counted, where it did not come in time."""
        with anyio.move_on_after(self._limits.call_s):
            return await event
        self._recorder.count("missed_events")
        return None

    async def _given_up(self, ready: Ready, after_s: float) -> Reply:
        """Cancel the call if it is not done by then, and see whether the connection lives on.

        2026-07-28, streamable-http: closing the response stream cancels. Everywhere else
        `notifications/cancelled` does, and a mere disconnect does not (2025-11-25).
        """
        reply = await self.wire.exchange(ready.out, limit_s=after_s)
        if reply.outcome != "timeout":
            return reply
        assert ready.id is not None
        recorder = self._recorder
        recorder.count("cancelled")
        cancelled_ns = recorder.clock()
        if not (self.wire.closing_cancels and self.era.closing_cancels):
            notice = self.era.notification("notifications/cancelled", {"requestId": ready.id})
            told = await self.wire.notify(notice, limit_s=self._limits.call_s)
            cancelled_ns = told.sent_ns
        late = recorder.counts.get(LATE_REPLIES, 0)
        next_one = await self._exchange(self.ready(Step(method=self.era.cheapest)))
        recorder.count("survived_cancel", int(next_one.outcome == "ok"))
        answered = recorder.counts.get(LATE_REPLIES, 0) - late
        recorder.count("answered_after_cancel", answered)
        return msgspec.structs.replace(
            reply,
            outcome="cancelled",
            cancelled_ns=cancelled_ns,
            why=f"cancelled by us after {after_s:g} s",
        )
