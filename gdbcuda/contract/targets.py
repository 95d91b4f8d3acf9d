"""Which functions of a hook library a program comes to, and by which way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gdbcuda.contract.program import LoadedPlace, Program

LIBRARY_OF = {"driver": "libcuda.so.1", "nvml": "libnvidia-ml.so.1", "runtime": "libcudart.so.13"}
LINKED, DLSYM = "linked", "dlsym"


class HookTarget(NamedTuple):
    """An API function, and how a program asks for it: a command of the program (shim/contract/finding.c)."""

    symbol: str
    way: str
    command: str


def by_name(symbol: str, api: str) -> list[HookTarget]:
    """Ways that name the symbol itself."""
    return [HookTarget(symbol, LINKED, f"linked {symbol}"),
            HookTarget(symbol, DLSYM, f"dlsym {LIBRARY_OF[api]} {symbol}")]  # fmt: skip


def places(program: Program, targets: Iterable[HookTarget]) -> dict[HookTarget, LoadedPlace]:
    wanted = list(targets)
    return dict(zip(wanted, program.find(*(one.command for one in wanted))))


def hooked(found: Mapping[HookTarget, LoadedPlace], hook: str) -> list[HookTarget]:
    """Those that lead into the hook library; of several to one place the first."""
    first: dict[tuple[str, int], HookTarget] = {}
    for target, place in found.items():
        if place.address and place.path == hook:
            first.setdefault((target.symbol, place.address), target)
    return list(first.values())
