"""A verdict as Markdown for a step summary or a comment, or what there is in place of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.report.decision import page
from bench.report.markdown import plain, printed

ICONS: Mapping[str, str] = {"slower": "🔴", "faster": "🟢", "same": "🟢", "cannot tell": "🟡"}
CUT = "\n\n… cut\n"


def decided(verdict: Mapping[str, Any]) -> str:
    """The verdict; `none` where calls failed, or where the comparison was broken off."""
    whole = verdict["valid"] and verdict["status"] == "complete"
    return str(verdict["verdict"]) if whole else "none"


def summary(verdict: Mapping[str, Any]) -> str:
    """The document of `ab --json` under its verdict."""
    said = decided(verdict)
    icon = ICONS.get(said, ICONS["slower"])
    if said == "none":
        said = "no verdict"
    elif any(each["ok"] is False for each in verdict["assertions"]):
        said, icon = f"{said}, but an assertion failed", ICONS["slower"]
    return printed(page(verdict), title=f"{icon} mcp-latency: {said}")


def failure(code: int, last_words: Sequence[str]) -> str:
    """What to say where there is no verdict."""
    lines = ["### 🔴 mcp-latency: no verdict", "", f"The comparison ended with status {code}.", ""]
    return "\n".join([*lines, *(f"> {plain(line)}  " for line in last_words), ""])


def bounded(text: str, most_bytes: int) -> str:
    """The text, cut at a line where it has more bytes."""
    if len(text.encode()) <= most_bytes:
        return text
    kept = text.encode()[: most_bytes - len(CUT.encode())].decode(errors="ignore")
    return kept.rpartition("\n")[0] + CUT
