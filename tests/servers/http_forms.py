"""The path says how a reply is written: `/FORM`, or `/FORM/slow` for one byte a write."""

from tests.servers.trivial import Message, encoded, reply_to
from tests.servers.trivial_http import JSON, SSE, Handler, event, serve


def chunked(body: bytes, size: int) -> bytes:
    """The body in chunks of `size`, with a chunk extension, ended."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


LENGTH, CHUNKS, END = "Content_Length", "Transfer_Encoding", "Connection"


class Forms(Handler):
    """Six forms of the same reply."""

    def posted(self, message: Message) -> None:
        """Headers and body of the form in the path."""
        _, form, *slow = self.path.split("/")
        reply = reply_to(message)
        line, news = encoded(reply), event(reply)
        kind, framing, value, body = {
            "json-length": (JSON + "; charset=utf-8", LENGTH, str(len(line)), line),
            "json-chunked": (JSON, CHUNKS, "chunked", chunked(line, 7)),
            "json-end": (JSON, END, "close", line),
            "sse-length": (SSE, LENGTH, str(len(news)), news),
            "sse-chunked": (SSE + ";charset=utf-8", CHUNKS, "chunked", chunked(news, 5)),
            "sse-end": (SSE, END, "close", news.replace(b"\n", b"\r\n")),
        }[form]
        self.step = 1 if slow else len(body)
        self.head(200, kind, **{framing: value})
        for at in range(0, len(body), self.step):
            self.write(body[at : at + self.step])


serve(Forms)
