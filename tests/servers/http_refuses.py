"""Turns every request away with the status in its path (case W21)."""

from tests.servers.trivial_http import Handler, serve


class Refusing(Handler):
    """`/421` answers 421."""

    def do_POST(self) -> None:
        """Refused, with words."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.note(None)
        self.respond(int(self.path[1:]), b"go away", "text/plain")


serve(Refusing)
