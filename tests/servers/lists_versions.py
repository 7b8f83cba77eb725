"""Refuses every version but one an era, and lists those it speaks (case W22).

The handshake version is 2025-03-26, the other era's 2026-07-28 (UnsupportedProtocolVersion).
"""

from tests.servers.trivial import STATELESS, Message, refusal, reply_to, serve

UNSUPPORTED = -32022
SPOKEN = ["2025-03-26", STATELESS]
META = "io.modelcontextprotocol/protocolVersion"


def answer(message: Message) -> Message | None:
    """A refusal with the list, or the usual reply."""
    params = message.get("params") or {}
    requested = params.get("protocolVersion") or params.get("_meta", {}).get(META)
    if requested is None or requested in SPOKEN:
        return reply_to(message)
    reply = refusal(message["id"], UNSUPPORTED, f"Unsupported protocol version: {requested}")
    reply["error"]["data"] = {"supported": SPOKEN, "requested": requested}
    return reply


if __name__ == "__main__":
    serve(answer)
