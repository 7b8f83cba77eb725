"""Tables made to fit a width: pictures get shorter, and columns without room go below."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.cells import cell_len

from bench.report.figures import Grid

GAP, NARROW_GAP = 4, 2
SHORTEST_PICTURE = 16
SHORTEST_LABEL = 16


def parts(grid: Grid, width: int) -> Iterator[Grid]:
    """The table in as many parts as it takes for each to fit; its notes stand below the last.

    The first column, the labels, comes again in each part; it may fold, and no other does.
    """
    shorter = _with_room(grid, width)
    groups = list(_groups(shorter, width, gap(grid, width)))
    for columns in groups:
        yield shorter._replace(
            head=[shorter.head[at] for at in columns],
            rows=[[row[at] for at in columns] for row in shorter.rows],
            notes=shorter.notes if columns is groups[-1] else (),
            title=shorter.title if columns is groups[0] else "",
        )


def gap(grid: Grid, width: int) -> int:
    """The columns between columns: fewer where the table does not fit otherwise."""
    widths = _widths(grid)
    return GAP if sum(widths) + GAP * (len(widths) - 1) <= width else NARROW_GAP


def label_width(grid: Grid, width: int) -> int:
    """The columns that the labels get: all they need, or a quarter of the width."""
    return min(_widths(grid)[0], max(SHORTEST_LABEL, width // 4))


def _with_room(grid: Grid, width: int) -> Grid:
    """The same with a picture that leaves its row room, and is no shorter than it must be."""
    if grid.picture is None:
        return grid
    at, widths, between = grid.picture.column, _widths(grid), gap(grid, width)
    before = label_width(grid, width) + sum(widths[1:at])
    others = before + sum(widths[at + 1 :]) + between * (len(widths) - 1)
    alone = before + between * at
    room = width - (others if width - others >= SHORTEST_PICTURE else alone)
    letters = max(SHORTEST_PICTURE, min(widths[at], room))
    rows = [[*row[:at], _shorter(row[at], letters), *row[at + 1 :]] for row in grid.rows]
    head = [*grid.head[:at], _axis(grid.head[at], letters), *grid.head[at + 1 :]]
    return grid._replace(head=head, rows=rows)


def _shorter(picture: str, letters: int) -> str:
    """The highest of the letters that become one: columns of blocks keep their peaks."""
    ends = [len(picture) * at // letters for at in range(letters + 1)]
    if len(picture) <= letters:
        return picture
    return "".join(max(picture[a:b]) for a, b in pairwise(ends))


def _axis(head: str, letters: int) -> str:
    """The two ends of an axis, as far apart as the picture below is long."""
    low, _, high = head.partition("  ")
    return f"{low}{high.strip():>{max(1, letters - len(low))}}" if high else head


def _groups(grid: Grid, width: int, between: int) -> Iterator[list[int]]:
    """The columns of each part: the labels, and as many others as fit, at least one."""
    label = label_width(grid, width)
    group, used = [0], label
    for at, needed in enumerate(_widths(grid)[1:], start=1):
        if len(group) > 1 and used + between + needed > width:
            yield group
            group, used = [0], label
        group.append(at)
        used += between + needed
    yield group


def _widths(grid: Grid) -> list[int]:
    rows = [grid.head, *grid.rows]
    return [max(cell_len(row[at]) for row in rows) for at in range(len(grid.head))]
