"""How an era subscribes to changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Subscription(NamedTuple):
    """The requests that subscribe, and the notification that acknowledges one that stays open."""

    requests: tuple[tuple[str, Mapping[str, Any]], ...]
    acknowledged_by: str | None = None
