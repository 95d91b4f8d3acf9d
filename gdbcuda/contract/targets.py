"""Which functions of a hook library a program comes to, and by which way."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from gdbcuda.contract.program import LoadedPlace, Program

LIBRARY_OF = {"driver": "libcuda.so.1", "nvml": "libnvidia-ml.so.1", "runtime": "libcudart.so.13"}
ENTRY = 16  # bytes of a function that a hook library may have put a jump into
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


def code(program: Program, found: Mapping[HookTarget, LoadedPlace]) -> dict[HookTarget, str]:
    """The first bytes at each place."""
    there = {target: place.address for target, place in found.items() if place.address and place.path}
    addresses = list(dict.fromkeys(there.values()))  # most functions have two ways to one place
    told = dict(zip(addresses, program.tell(*(f"code {address:x} {ENTRY:x}" for address in addresses))))
    return {target: told[address] for target, address in there.items()}


def patched(ours: Mapping[HookTarget, str], theirs: Mapping[HookTarget, str]) -> set[HookTarget]:
    """Where the code is another one than ``ours``, of a program without the hook library."""
    return {target for target, there in theirs.items() if ours.get(target, there) != there}


def hooked(found: Mapping[HookTarget, LoadedPlace], hook: str, changed: Container[HookTarget]) -> list[HookTarget]:
    """Those that lead into the hook library, or to code that it has ``changed``; of several to one place the first."""
    first: dict[tuple[str, int], HookTarget] = {}
    for target, place in found.items():
        if place.address and (place.path == hook or target in changed):
            first.setdefault((target.symbol, place.address), target)
    return list(first.values())
