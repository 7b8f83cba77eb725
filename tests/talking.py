"""A session in this process with a server outside of it: steps, and what came of them."""

from __future__ import annotations

from collections import Counter

from bench import jsonrpc
from bench.model import Reply, Step
from bench.recorder import Recorder
from bench.session import Session


async def ready(session: Session) -> None:
    """Open it and learn its tools."""
    await session.open()
    await session.tools()


async def calls(session: Session, count: int, text: str = "hi") -> list[Reply]:
    """So many calls, each after the reply to the one before."""
    return [
        await session.call(session.request(Step(tool="echo", arguments={"text": text})))
        for _ in range(count)
    ]


async def heard_out(session: Session) -> None:
    """Wait for all that the server has written so far: a pipe keeps the order."""
    _, ping = session.cheapest()
    assert (await session.call(ping)).outcome == "ok"


def said(reply: Reply) -> str:
    """The text of a reply, which must be ok."""
    assert reply.outcome == "ok", reply.why
    text: str = jsonrpc.result_of(reply.body)["content"][0]["text"]
    return text


def in_order(reply: Reply) -> bool:
    """Whether our own stamps of a call are all there and in order."""
    stamps = (reply.sent_ns, reply.first_byte_ns, reply.received_ns, reply.decoded_ns)
    known = [stamp for stamp in stamps if stamp is not None]
    return len(known) == 4 and known == sorted(known)


def kinds(recorder: Recorder) -> Counter[tuple[str, str]]:
    """How many messages of each direction and kind there were."""
    return Counter((each.direction, each.kind) for each in recorder.transcript)
