"""What a launch's messages say: era and versions, the last step, what is due, what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.model import Message
from bench.report.explain import exchange, settling
from bench.report.explain.exchange import Turned
from bench.report.explain.meanings import COMPLETE, STEPS, of_error
from bench.report.figures import harmless, shown

INITIALIZED = "notifications/initialized"
QUOTED_LETTERS = 200


class Sentence(NamedTuple):
    """One finding: `about` is a word that programs can sort by, `text` is for people."""

    about: str
    text: str


def explain(messages: Sequence[Message], facts: Mapping[str, Any]) -> list[Sentence]:
    """All that can be said, the whole first, then the parts; `facts` is what else was noted."""
    turns = exchange.turned(messages)
    return [
        Sentence(about, text)
        for about, look in LOOKS.items()
        for text in look(turns, facts)
        if text
    ]


def _counted(turns: Sequence[Turned], _: Mapping[str, Any]) -> Iterator[str]:
    real = [turn for turn in turns if turn.message.kind != "noise"]
    yield f"{len(real)} message{'' if len(real) == 1 else 's'}; {_parity(turns)}"


def _parity(turns: Sequence[Turned]) -> str:
    """A handshake session is odd: each request has its response, and `initialized` has none."""
    steps = [turn for turn in turns if turn.is_step]
    count = len(steps)
    confirmed = exchange.first(turns, "notification", INITIALIZED) is not None
    handshake = confirmed or exchange.first(turns, "request", "initialize") is not None
    kind = "a handshake session" if handshake else "a session without a handshake"
    open_requests = [m for m in exchange.unanswered(turns) if m.direction == "out"]
    if steps and open_requests == [steps[-1].message]:
        return f"{count} in its steps, with a response still due"
    parity = _odd(count)
    if handshake and not confirmed and not open_requests:
        return f"{count} in its steps, {parity}: {_unconfirmed(steps)}"
    bare = exchange.given_up(turns)
    others = sum(t.message.kind == "notification" and t.method != INITIALIZED for t in steps)
    if bare or others:
        kind += f" with {_extras(bare, others)}"
    due = _odd(confirmed + bare + others)
    if parity != due:
        return f"{count} in its steps, {parity}: {kind} is {due}, so a line is missing"
    if open_requests or _lost(turns):
        return f"{count} in its steps, {parity}, as {kind} must be, and yet lines are missing"
    why = (
        f": {INITIALIZED} has no response, all else is in twos"
        if handshake and not others and not bare
        else ""
    )
    return f"{count} in its steps, {parity}, as {kind} must be{why}"


def _extras(bare: int, others: int) -> str:
    """What else has no counterpart: requests given up, and more notifications of the client."""
    said = [(bare, "request", "given up"), (others, "notification", "more")]
    return " and ".join(f"{n} {noun}{'' if n == 1 else 's'} {what}" for n, noun, what in said if n)


def _odd(count: int) -> str:
    return "odd" if count % 2 else "even"


def _lost(turns: Sequence[Turned]) -> bool:
    return bool([each for each in exchange.strays(turns) if each.direction == "in"])


def _unconfirmed(steps: Sequence[Turned]) -> str:
    if steps[-1].method == "initialize":
        return f"there is no {INITIALIZED}, as where a client declines the version it was offered"
    return f"{INITIALIZED} is missing: either it was lost, or the client never sent it"


def _last_step(turns: Sequence[Turned], facts: Mapping[str, Any]) -> Iterator[str]:
    steps = [turn for turn in turns if turn.is_step]
    if not steps:
        yield "Nothing was exchanged: the connection was not up yet when it ended."
        return
    last = steps[-1]
    said = f"Last step: {_said(last)}"
    if last.error is not None:
        yield f"{said}, an error. Nothing is due: the server has answered, and it said no."
    elif last.result.get("resultType") == "input_required":
        yield f"{said}, which asks for input. Due next: {last.method} again, with inputResponses."
        yield "Usually: the client has nobody to ask, or no script that answers."
    elif last.key == COMPLETE:
        yield f"{said}. The session is whole: nothing is due."
    elif last.method == INITIALIZED and settling.announces_no_tools(turns, facts):
        yield f"{said}. Nothing is due: the server announces no tools, so none are asked for."
    elif last.key in STEPS:
        step = STEPS[last.key]
        yield f"{said}. Due next: {step.due}."
        yield f"Usually: {step.usually}."
    elif last.message.kind == "request":
        yield f"{said}. Due next: the response to {last.method}."
    else:
        yield f"{said}."


def _said(turn: Turned) -> str:
    direction, kind, method = turn.key
    whose = "the client's" if direction == "out" else "the server's"
    return f"{whose} {kind}{' to' if kind == 'response' else ''} {method}"


def _errors(turns: Sequence[Turned], _: Mapping[str, Any]) -> Iterator[str]:
    """The two channels, told apart: JSON-RPC errors are for code, `isError` is for the model."""
    for turn in turns:
        if turn.error is not None and turn.message.direction == "in":
            code, words = turn.error.get("code"), quoted(turn.error.get("message"))
            yield (
                f"Protocol error {shown(code)} to {_asked(turn)}: {words}. "
                f"Usually: {of_error(code)}. It is for the client's code; no model reads it"
                f"{_carried(turn.message)}."
            )
        elif turn.message.direction == "in" and turn.result.get("isError") is True:
            yield (
                f"Tool error in the result of {_asked(turn)}: {quoted(_text(turn.result))}. The "
                f"tool was reached and says that it failed; it is for the model to read"
                f"{_carried(turn.message)}."
            )


def quoted(words: object) -> str:
    """A server's words in quotation marks, cut where they are long."""
    text = harmless(words)
    return f'"{text if len(text) <= QUOTED_LETTERS else text[: QUOTED_LETTERS - 1] + "…"}"'


def _asked(turn: Turned) -> str:
    known = turn.answers or turn.message
    return f"{turn.method or 'an unknown request'} (id {shown(known.id)})"


def _carried(message: Message) -> str:
    """What the transport said beside it: an error inside HTTP 200 is an error all the same."""
    status = message.http_status
    if status is None:
        return ""
    if status < 300:
        return f"; HTTP {status} says only that the message was delivered"
    return f"; it came with HTTP {status}"


def _text(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    return " ".join(str(each.get("text", "")) for each in blocks if isinstance(each, dict)).strip()


def _missing(turns: Sequence[Turned], _: Mapping[str, Any]) -> Iterator[str]:
    for _direction, id in sorted(exchange.cancelled(turns)):
        yield f"Cancelled: the request with id {shown(id)}; no response to it is due."
    for message in exchange.unanswered(turns):
        who = "the server" if message.direction == "out" else "the client"
        yield f"Unanswered by {who}: {shown(message.method)} (id {shown(message.id)})."
    steps = [turn for turn in turns if turn.is_step]
    after = [turn.method for turn in steps if turn.message.kind == "request"]
    handshake = "initialize" in after and after[-1] not in ("initialize", "ping")
    if handshake and exchange.first(turns, "notification", INITIALIZED) is None:
        yield (
            f"Missing: {INITIALIZED} before {after[-1]}; without it a server does not know that "
            "its offer was accepted."
        )


def _too_much(turns: Sequence[Turned], _: Mapping[str, Any]) -> Iterator[str]:
    for turn in exchange.duplicates(turns):
        yield f"Answered twice: {_asked(turn)}; only the first response counts."
    for message in exchange.strays(turns):
        whose = "server" if message.direction == "in" else "client"
        yield f"A response of the {whose} to nothing that was asked: id {shown(message.id)}."
    noise = sum(turn.message.kind == "noise" for turn in turns)
    if noise == 1:
        yield "1 line was no message; it belongs on stderr."
    elif noise:
        yield f"{noise} lines were no messages; they belong on stderr."


def _of_the_server(turns: Sequence[Turned], _: Mapping[str, Any]) -> Iterator[str]:
    """What the server asked of the client, and what it was told."""
    for turn in turns:
        if turn.message.kind == "response" and turn.message.direction == "out" and turn.method:
            code = None if turn.error is None else turn.error.get("code")
            how = "and was answered" if code is None else f"and was refused with {code}"
            yield f"The server asked the client for {_asked(turn)} {how}."


def _not_called(_: Sequence[Turned], facts: Mapping[str, Any]) -> Iterator[str]:
    if "not_called" in facts:
        yield f"No tool was called: {shown(facts['not_called'])}"


LOOKS: Mapping[str, Callable[[Sequence[Turned], Mapping[str, Any]], Iterator[str]]] = {
    "count": _counted,
    "settled": settling.sentences,
    "last": _last_step,
    "not called": _not_called,
    "error": _errors,
    "missing": _missing,
    "too much": _too_much,
    "asked back": _of_the_server,
}
