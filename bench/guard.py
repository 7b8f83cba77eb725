"""Ends what a launch has started, should this program be killed before it can do so itself."""

from __future__ import annotations

import contextlib
import subprocess

SHELL = "/bin/sh"
SCRIPT = 'read -r group && { read -r over || kill -s KILL -- "-$group"; }'
END_LIMIT_S = 2.0


class Guard:
    """A shell beside one launch: it reads that we are gone from the end of its input.

    Made before the server, which is then started as if it were alone. PR_SET_PDEATHSIG would have
    to be set between fork and exec: that takes Python code in a forked copy of a program with
    threads, costs the launch that fork, reaches the child only and not its children, is tied to
    the thread that started it, and is Linux's own. In a session of its own, the guard outlives a
    signal to our group. It does not reach a process that has left the server's group.
    """

    def __init__(self) -> None:
        self._shell = subprocess.Popen(
            [SHELL, "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={},
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Kill this process group when we are gone."""
        self._tell(f"{group}\n")

    def dismiss(self) -> None:
        """There is nothing left to end; the shell leaves and is reaped."""
        self._tell("over\n")
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        try:
            self._shell.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._shell.kill()
            self._shell.wait()

    def _tell(self, line: str) -> None:
        """It may have been killed; then nobody guards, and nothing else changes."""
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.write(line.encode())
