"""Which function a request means, and what is wrong with an answer that is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda.routes.shapes import DLSYMS
from gdbcuda.routes.verdicts import Verdict
from gdbcuda.text.sentences import counted

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request
    from gdbcuda.routes.snapshot import ProcessSnapshot, Reached


def wanted_symbol(table: api.Table, request: Request) -> str | None:
    """The ELF symbol that the request means; None for a name that the API does not have."""
    if request.resolver in DLSYMS:
        return request.name if table.function(request.name) else None
    if request.is_opening:
        return None
    return table.proc_address(request.name, version_of(table, request), flags_of(request))


def version_of(table: api.Table, request: Request) -> int:
    """The runtime's own version, where the request names none (cudaGetDriverEntryPoint)."""
    if isinstance(request.version, int):
        return request.version
    major, _, minor = table.cuda.partition(".")
    return int(major) * 1000 + int(minor or 0) * 10


def flags_of(request: Request) -> int:
    per_thread = 2 if request.resolver.endswith("_ptsz") else 0
    return request.flags or per_thread


def unknown_name(snapshot: ProcessSnapshot, request: Request) -> Verdict:
    """Not in the table: no opinion, unless the API's resolver was asked for something that the API had at all."""
    if not snapshot.table.proc_versions(request.name):
        return Verdict("")
    got = request.answer.name if request.answer else "nothing"
    asked = f"version {version_of(snapshot.table, request)}{flags_text(request)}"
    return Verdict("wrong version", f"{got}, and at {asked} there is no {request.name}")


def flags_text(request: Request) -> str:
    return " for per-thread streams" if flags_of(request) & 2 else ""


def wrong_version(snapshot: ProcessSnapshot, request: Request, wanted: str, answer: Reached) -> str:
    """What is wrong with the answer; "" if nothing is known to be."""
    if not answer.names:
        return contradiction(snapshot, wanted, answer)
    known = [function for function in map(snapshot.table.function, answer.names) if function is not None]
    if not known or wanted in answer.names:
        return ""
    version = request.version
    place = f"where version {version}{flags_text(request)} means" if isinstance(version, int) else "in the place of"
    return f"{known[0].symbol} {place} {wanted}{difference(snapshot.table, wanted, known[0])}"


def is_variant(wanted: str, answer: Reached) -> bool:
    """Another version of the function, not another function; one without a name passes for one."""
    return not answer.names or api.base_name(wanted) in map(api.base_name, answer.names)


def contradiction(snapshot: ProcessSnapshot, wanted: str, answer: Reached) -> str:
    """An answer without a name can still not be two functions with different parameters."""
    before = snapshot.learned.setdefault(answer.address, wanted)
    table = snapshot.table
    if before == wanted or signature(table, before) == signature(table, wanted):
        return ""
    return f"the same address was answered for {before}{difference(table, wanted, table.function(before))}"


def difference(table: api.Table, wanted: str, got: api.Function | None) -> str:
    expected = table.function(wanted)
    if expected is None or got is None or signature(table, wanted) == signature(table, got.symbol):
        return ""
    if len(expected.parameters) != len(got.parameters):
        return f": {counted(len(got.parameters), 'parameter')} instead of {len(expected.parameters)}"
    pairs = zip(expected.parameters, got.parameters)
    changed = next((f"{g.name} is {g.type.spelling}, not {e.type.spelling}" for e, g in pairs
                    if e.type.spelling != g.type.spelling), "another result type")  # fmt: skip
    return f": {changed}"


def signature(table: api.Table, symbol: str) -> tuple[str, ...]:
    function = table.function(symbol)
    return () if function is None else (function.result.spelling, *(p.type.spelling for p in function.parameters))
