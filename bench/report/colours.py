"""One colour a segment, a cell and a verdict: the same in every picture and format."""

from __future__ import annotations

from collections.abc import Mapping

# Okabe and Ito's, which survive colour blindness and print.
COLOURS: Mapping[str, str] = {
    "deliver": "#bbbbbb",
    "dispatch": "#56b4e9",
    "work": "#d55e00",
    "encode": "#0072b2",
    "return": "#999999",
    "boundary": "#56b4e9",
    "first_reply": "#cc79a7",
    "interpreter": "#999999",
    "imports": "#cc79a7",
    "serving": "#56b4e9",
    "connect": "#bbbbbb",
    "tls": "#882255",
    "initialize": "#d55e00",
    "discover": "#e69f00",
    "initialized": "#f0e442",
    "tools_list": "#009e73",
    "listen": "#44aa99",
    "client": "#000000",
    "think": "#eeddaa",
}
CELL_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
VERDICT_COLOURS: Mapping[str, str] = {
    "slower": "#d55e00",
    "faster": "#009e73",
    "same": "#0072b2",
    "cannot tell": "#999999",
}
