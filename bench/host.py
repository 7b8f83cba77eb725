"""Facts and noise of this machine, the versions of what ran, and which cores are whose."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.model import Placement

VERSIONS_OF = ("mcp-latency", "anyio", "uvloop", "httptools", "msgspec", "numpy", "pyarrow")
PYPERF_FACTS = ("cpu_model_name", "platform", "aslr", "cpu_config", "load_avg_1min", "boot_time")


def facts() -> dict[str, Any]:
    """What a figure depends on beside the server: processor, cores, kernel, clock, versions."""
    from pyperf import Run

    known: Mapping[str, Any] = Run([1.0], collect_metadata=True).get_metadata()
    clock = time.get_clock_info("perf_counter")
    return {
        "cpu": str(known.get("cpu_model_name", platform.processor() or platform.machine())),
        "cores": os.cpu_count(),
        "cores_allowed": len(_available()) or None,
        "cgroup": _limits(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "clock": {"name": clock.implementation, "resolution_s": clock.resolution},
        "versions": versions(),
        "noise": {"load_1min": os.getloadavg()[0], **_pressure()},
        "pyperf": {key: str(known[key]) for key in PYPERF_FACTS if key in known},
    }


def versions() -> dict[str, str]:
    """The versions of this program and of the libraries on its timed path."""
    found = {"python": sys.version.split()[0]}
    for name in VERSIONS_OF:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def placement(pin: str) -> Placement:
    """The cores for client and server: `auto`, `none`, or `CPUS:CPUS` (`0:1-3`, `0:2,3`).

    `auto` gives the client one core to itself and the server's whole tree all the others; with
    a single core, or where a system cannot pin, that is `none`. UsageError on anything else.
    """
    available = _available()
    if pin == "none" or (pin == "auto" and len(available) < 2):
        return Placement()
    if pin == "auto":
        return Placement(client=available[:1], server=available[1:])
    client, colon, server = pin.partition(":")
    if not colon:
        raise UsageError(f'--pin "{pin}": say auto, none, or client and server cores like 0:1')
    chosen = Placement(client=_cores(client), server=_cores(server))
    missing = sorted({*chosen.client, *chosen.server} - set(available))
    if missing:
        raise UsageError(
            f'--pin "{pin}": no core {missing[0]} here; there are {_listed(available)}'
        )
    return chosen


def take_place(cpus: tuple[int, ...]) -> None:
    """Move this thread to its cores."""
    if cpus:
        os.sched_setaffinity(0, cpus)


def _available() -> tuple[int, ...]:
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0)))


def _cores(text: str) -> tuple[int, ...]:
    """`0,2-4` to (0, 2, 3, 4)."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UsageError(f'--pin: "{text}" is no list of cores like 0,2-4')
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _listed(cpus: tuple[int, ...]) -> str:
    return ", ".join(str(cpu) for cpu in cpus) or "none that can be chosen on this system"


def _limits(root: Path = Path("/sys/fs/cgroup")) -> dict[str, float]:
    """The tightest limits of the control groups around this process (version 2): cpus, bytes."""
    own = root / _own_group().strip("/")
    found: dict[str, list[float]] = {"cpus": [], "memory_bytes": []}
    for folder in (each for each in (own, *own.parents) if each.is_relative_to(root)):
        quota, _, period = _first_line(folder / "cpu.max").partition(" ")
        memory = _first_line(folder / "memory.max")
        found["cpus"] += [int(quota) / int(period)] if quota.isdigit() else []
        found["memory_bytes"] += [int(memory)] if memory.isdigit() else []
    return {name: min(limits) for name, limits in found.items() if limits}


def _own_group() -> str:
    """The path of this process's group; `/` without version 2, or at the top of a container."""
    try:
        lines = Path("/proc/self/cgroup").read_text("ascii").splitlines()
    except OSError:
        return "/"
    return next((line[3:] for line in lines if line.startswith("0::")), "/")


def _first_line(path: Path) -> str:
    """Empty where a group has no such limit."""
    try:
        return path.read_text("ascii").partition("\n")[0]
    except OSError:
        return ""


def _pressure() -> dict[str, float]:
    """The share of the last 10 s in which something waited for a processor (Linux PSI)."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            some = file.readline().split()
    except OSError:
        return {}
    return {"cpu_pressure_10s_percent": float(some[1].partition("=")[2])}
