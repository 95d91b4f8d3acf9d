"""What cuGetProcAddress answers, for each version at which the answer changes, with each flag."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gdbcuda.contract.arguments import FIRST, TEXT_AT
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs.showing_program import Shown
from gdbcuda.contract.calling.one_call import OneCall
from gdbcuda.contract.program import LoadedPlace, Program, place
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.resolving import c_finding
from gdbcuda.contract.targets import LIBRARY_OF, LINKED, by_name

NAME, PLACE, VERSION, FLAGS, HOW = "name", "place", "version", "flags", "how"
# What hands out functions of the driver, and its parameters. The first two are the driver's, the others the runtime's.
RESOLVERS: Mapping[str, tuple[str, ...]] = {
    "cuGetProcAddress_v2": (NAME, PLACE, VERSION, FLAGS, HOW),
    "cuGetProcAddress": (NAME, PLACE, VERSION, FLAGS),
    "cudaGetDriverEntryPoint": (NAME, PLACE, FLAGS, HOW),
    "cudaGetDriverEntryPointByVersion": (NAME, PLACE, VERSION, FLAGS, HOW),
}
UNKNOWN = ("cuNoSuchFunction", "cuMemAlloc_v2", "cuMemAlloc_v99", "cuMemAll", "cuGetProcAddress_v2", "cudaMalloc",
           "malloc", "c", "cuNoSuchFunctionWithANameThatIsLongerThanAnyOther" * 4)  # fmt: skip
MOST_SUFFIXED = 20
ALL_FLAGS = (0, 1, 2)  # default, legacy stream, per-thread stream
PLACE_AT, HOW_AT = FIRST, FIRST + 64
WORD, INT = 8, 4
AT_ONCE = 256  # requests: what is told of them, and answered, has to find room between two processes


class ProcRequest(NamedTuple):
    """``way`` to the resolver: linked or dlsym."""

    resolver: str
    way: str
    base: str
    version: int
    flags: int

    def described(self) -> str:
        version = f" {self.version}" if VERSION in RESOLVERS[self.resolver] else ""
        flags = f" flags {self.flags}" if self.flags else ""
        return f"{self.base}{version}{flags}"

    @property
    def by(self) -> str:
        return f"{self.resolver} ({self.way})"


class ProcAnswer(NamedTuple):
    """``status`` of the call; ``how``: what is written for how the function was found."""

    place: LoadedPlace
    status: int
    how: int


def versions(bench: Bench, base: str) -> list[int]:
    """Those at which a symbol begins, the one before each, the driver's own and a later one."""
    begins = {one.version for one in bench.table.proc_versions(base)}
    own = driver_version(bench.table.cuda)
    return sorted({version for one in begins for version in (one - 10, one) if version > 0} | {own, own + 10})


def requests(bench: Bench, base: str, ways: Mapping[tuple[str, str], int]) -> Iterator[ProcRequest]:
    known = versions(bench, base)
    for resolver, way in ways:
        for version in known if VERSION in RESOLVERS[resolver] else known[:1]:
            for flags in ALL_FLAGS:
                yield ProcRequest(resolver, way, base, version, flags)


def driver_version(cuda: str) -> int:
    """13000 of 13.0."""
    major, minor = cuda.split(".")
    return int(major) * 1000 + int(minor) * 10


def unknown(bench: Bench) -> Iterator[Broken]:
    """A newer program asks for what no driver here has; a mistaken one with a suffix, or for another library's."""
    suffixed = [one.symbol for one in bench.targets if one.symbol != bench.table.functions[one.symbol].base]
    for name in (*UNKNOWN, *suffixed[:MOST_SUFFIXED]):
        yield from by_each_version(name, bench)


def by_each_version(base: str, bench: Bench) -> Iterator[Broken]:
    """The driver's own answers come from a program without the hook library, which nothing can go wrong in."""
    bare = bench.program(bench.bare)
    own = {symbol: place for (symbol, _), place in resolvers(bench, bare).items()}
    with bench.copy() as program:
        ways = {key: place for key, place in resolvers(bench, program).items() if key[0] in own}
        wanted = list(requests(bench, base, ways))
        bench.last = next((shown(bench, one) for one in wanted), None)
        expected = answers_of(bare, wanted, [own[one.resolver] for one in wanted])
        places = [ways[one.resolver, one.way] for one in wanted]
        found = answers_of(program, wanted, places)
        for one, before, now in zip(wanted, found, answers_of(program, wanted, places)):
            if now != before:
                yield Broken("another address each time", one.described(), shown(bench, one))
                break
        for one, ours, theirs in zip(wanted, expected, found):
            yield from compared(bench, program, one, ours, theirs)


def resolvers(bench: Bench, program: Program) -> dict[tuple[str, str], int]:
    """By name and way the address, in the first way that leads to it."""
    wanted = [way for symbol in RESOLVERS for way in by_name(symbol, bench.table.functions[symbol].api)]
    found: dict[tuple[str, str], int] = {}
    for target in wanted:
        reached = bench.address(program, target)
        if reached and reached not in found.values():
            found[target.symbol, target.way] = reached
    return found


def answers_of(program: Program, wanted: Sequence[ProcRequest], resolvers: Sequence[int]) -> list[ProcAnswer]:
    """A few in one go: to wait for each answer takes longer than to give it."""
    found: list[ProcAnswer] = []
    for first in range(0, len(wanted), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        found += map(answered, program.tell(*map(partial(command, program), wanted[part], resolvers[part])))
    return found


def command(program: Program, request: ProcRequest, resolver: int) -> str:
    given = {
        NAME: address(program, TEXT_AT), PLACE: address(program, PLACE_AT), HOW: address(program, HOW_AT),
        VERSION: request.version.to_bytes(INT, "little"), FLAGS: request.flags.to_bytes(WORD, "little"),
    }  # fmt: skip
    arguments = " ".join(given[one].hex() for one in RESOLVERS[request.resolver])
    return f"handed-out {request.resolver} {resolver:x} {request.base} {TEXT_AT:x} {PLACE_AT:x} {HOW_AT:x} {arguments}"


def answered(told: str) -> ProcAnswer:
    """``told``: what the program says to such a command."""
    status, how, found = told.split(None, 2)
    return ProcAnswer(place(found), int(status, 16), int(how, 16))


def address(program: Program, offset: int) -> bytes:
    return (program.arena + offset).to_bytes(WORD, "little")


def compared(
    bench: Bench, program: Program, request: ProcRequest, ours: ProcAnswer, theirs: ProcAnswer
) -> Iterator[Broken]:
    """``ours`` without the hook library."""
    begin, show = f"{request.described()}: ", shown(bench, request)
    if (ours.status, ours.how) != (theirs.status, theirs.how):
        texts = [said(bench, request, one) for one in (theirs, ours)]
        yield Broken(f"{request.by} says otherwise than the driver whether there is such a function",
                     f"{begin}{texts[0]}, the driver {texts[1]}", show)  # fmt: skip
    elif theirs.place.path != bench.hook:
        if ours.place.is_other_than(theirs.place):
            yield Broken(f"{request.by} gives another function than the driver",
                         f"{begin}{theirs.place.text()}, the driver {ours.place.text()}", show)  # fmt: skip
    elif theirs.place.symbol != ours.place.symbol:
        reached = what_it_reaches(bench, program, ours.place.symbol, theirs.place.address)
        if reached and ours.place.symbol not in reached:
            yield Broken(f"{request.by} gives a function of the hook's that calls another one than the driver's",
                         f"{begin}it calls {reached[0]}, the driver gives {ours.place.symbol}", show)  # fmt: skip


def shown(bench: Bench, request: ProcRequest) -> Shown:
    given = {NAME: f'"{request.base}"', PLACE: "&found", VERSION: str(request.version), FLAGS: f"{request.flags}ul",
             HOW: "&how"}  # fmt: skip
    library = LIBRARY_OF[bench.table.functions[request.resolver].api]
    arguments = [given[one] for one in RESOLVERS[request.resolver]]
    return partial(c_finding.by_resolver, request.resolver, library, request.way, arguments)


def said(bench: Bench, request: ProcRequest, answer: ProcAnswer) -> str:
    """The status, and of a success how it was found."""
    function = bench.table.functions[request.resolver]
    status, how = function.result.enum, function.parameters[-1].type.target
    text = (status.name_of(answer.status) if status else None) or str(answer.status)
    found = how.enum.name_of(answer.how) if how is not None and how.enum is not None else None
    return f"{text}, {found}" if found else text


def what_it_reaches(bench: Bench, program: Program, symbol: str, address: int) -> list[str]:
    """Functions of the driver, if it is called with the arguments of ``symbol``."""
    if symbol not in bench.table.functions:
        return []
    call = OneCall(bench, program, symbol, address, random.Random(bench.seed), LINKED).made(0)
    return [one.symbol for one in call.reached]
