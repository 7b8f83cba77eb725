"""What can be varied beside transport and era: each axis, its values, where it has a meaning."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bench.model import ERAS, TRANSPORTS, EraName, Transport


class Axis(msgspec.Struct, frozen=True):
    """A variant that can be asked for: its values, and the cells it means something in.

    No values: any whole number from 1 on, for servers whose recipe has an option for it. `eras_of`
    narrows the eras of single values.
    """

    values: tuple[str, ...] = ()
    transports: tuple[Transport, ...] = TRANSPORTS
    eras: tuple[EraName, ...] = ERAS
    eras_of: Mapping[str, tuple[EraName, ...]] = {}

    def has(self, value: str) -> bool:
        """Whether it is a value of this axis."""
        if self.values:
            return value in self.values
        return value.isascii() and value.isdigit() and not value.startswith("0")


VARIANTS: Mapping[str, Axis] = {
    "session": Axis(values=("kept", "none"), transports=("http",), eras=("stateful",)),
    "response": Axis(values=("json", "sse"), transports=("http",)),
    "connection": Axis(values=("keep-alive", "per-call"), transports=("http",)),
    "ack": Axis(values=("delayed", "quick"), transports=("http",)),
    "client": Axis(values=("wire", "sdk", "sdk-auto")),
    "opening": Axis(values=("known", "direct", "find"), eras_of={"direct": ("stateless",)}),
    "policy": Axis(values=("reuse", "one-per-call")),
    "probe": Axis(values=("on", "off")),
    "catalogue": Axis(),
}
OPTIONS = tuple(axis for axis in VARIANTS if axis != "probe")  # each an option of its own name
