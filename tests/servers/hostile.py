"""Says what would be obeyed where it is not escaped: in its names, texts, errors, logs and noise.

The first word says where it fails: `never`, `initialize`, `tools/list`, `tools/call` or `dies`.
"""

import sys

from tests.servers.trivial import Message, is_call, leave, reply_to, serve, shout

SEQUENCES = "\x1b[31m\x1b]0;owned\x07\r\x9b2J\x7f"
MARKUP = "</script><img src=x>|`*_[a](b)[/red]$\\frac$"
TURNED = "\u202egnp.exe\u2066\u200f\u2028"
WORDS = f"{SEQUENCES}{MARKUP}{TURNED}"
LONG = WORDS + "x" * 5_000
FAILS = sys.argv[1] if len(sys.argv) > 1 else "never"


def answer(message: Message) -> Message | None:
    """What the trivial server answers, in these words."""
    reply = reply_to(message)
    if is_call(message) and FAILS == "dies":
        leave()
    if reply is None:
        return None
    if message["method"] == FAILS:
        error = {"code": -32000, "message": LONG, "data": LONG}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    result = reply["result"]
    if "serverInfo" in result:
        result["serverInfo"] = {"name": LONG, "version": LONG}
    for tool in result.get("tools", ()):
        tool["title"] = tool["description"] = LONG
        tool["inputSchema"]["properties"] = {WORDS: {"type": WORDS}}
    if "content" in result:
        result["content"] = [{"type": "text", "text": LONG}]
    return reply


if __name__ == "__main__":
    print(LONG, file=sys.stderr, flush=True)
    shout(LONG.encode().replace(b"\n", b"") + b"\n")
    serve(answer)
