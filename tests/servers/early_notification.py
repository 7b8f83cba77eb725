"""Announces a changed list before anybody has asked anything (case W2)."""

from tests.servers.trivial import say, serve

say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
serve()
