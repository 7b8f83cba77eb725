"""Pages with parts that come from the program, each between `<!-- x -->` and `<!-- /x -->`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

TOP = Path(__file__).parent.parent


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The page with these parts made anew; marks of others are left as they are."""
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        pieces = re.split(f"{re.escape(begin)}.*?{re.escape(end)}", text, flags=re.S)
        text = f"{begin}{part}\n{end}".join(pieces)
    return text
