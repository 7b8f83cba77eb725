"""Complains and leaves before it answers anything."""

import sys

print("Traceback (most recent call last):", file=sys.stderr)
print("ModuleNotFoundError: No module named 'tickets'", file=sys.stderr)
sys.exit(7)
