"""Lists 25 tools on three pages, with cache hints; `FILE` turns the order at every launch."""

import sys
from pathlib import Path

from tests.servers.trivial import Message, reply_to, serve

TOOLS = [{"name": name, "inputSchema": {}} for name in ["echo", *(f"t{n}" for n in range(24))]]
PAGE = 10
TTL_MS = 60_000


def turned() -> list[Message]:
    """The tools, one further on for each launch before this one."""
    if not sys.argv[1:] or not sys.argv[1].endswith(".launches"):
        return TOOLS
    with Path(sys.argv[1]).open("a") as file:
        file.write(".")
    by = Path(sys.argv[1]).stat().st_size
    return TOOLS[by:] + TOOLS[:by]


LISTED = turned()


def answer(message: Message) -> Message | None:
    """The usual reply, and a page for each cursor."""
    reply = reply_to(message)
    if reply is None or "result" not in reply:
        return reply
    if message["method"] in ("tools/list", "server/discover"):
        reply["result"].update(ttlMs=TTL_MS, cacheScope="public")
    if message["method"] == "tools/list":
        at = int((message.get("params") or {}).get("cursor", "0"))
        reply["result"]["tools"] = LISTED[at : at + PAGE]
        if at + PAGE < len(LISTED):
            reply["result"]["nextCursor"] = str(at + PAGE)
    return reply


if __name__ == "__main__":
    serve(answer)
