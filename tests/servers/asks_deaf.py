"""Asks the client without an end and reads none of the answers."""

from tests.servers.trivial import encoded, heard, shout

PING = encoded({"jsonrpc": "2.0", "id": "again", "method": "ping"}) + b"\n"

for _message in heard():
    while True:
        shout(PING * 1_000)
