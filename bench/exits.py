"""Waits until a child has left: the kernel tells where it can, else by a look every 4 ms."""

from __future__ import annotations

import os
import subprocess
import sys

import anyio

LOOK_S = 0.004


async def left(child: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Whether the child has left within `limit_s`; it is reaped then.

    Linux tells it by a descriptor of the process (`pidfd_open(2)`), which becomes readable.
    """
    if child.poll() is not None:
        return True
    fd = _descriptor(child.pid)
    with anyio.move_on_after(limit_s):
        if fd is None:
            while child.poll() is None:
                await anyio.sleep(LOOK_S)
        else:
            try:
                await anyio.wait_readable(fd)
            finally:
                os.close(fd)
    return child.poll() is not None


def _descriptor(pid: int) -> int | None:
    """None where this system has no such descriptor, or gives none."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
