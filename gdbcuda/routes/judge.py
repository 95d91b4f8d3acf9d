"""The verdict on a request: was the answer the function that was asked for, and whose is it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda.routes import verdicts
from gdbcuda.routes.collect import Route
from gdbcuda.routes.shapes import RTLD_DEFAULT, RTLD_NEXT, RTLD_NOLOAD
from gdbcuda.routes.verdicts import Verdict

if TYPE_CHECKING:
    from gdbcuda.linkage import Found, Linkage
    from gdbcuda.routes.requests import Request
    from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

STATUS_TYPE = "CUdriverProcAddressQueryResult"
DLSYMS = ("dlsym", "dlvsym")
PSEUDO = (RTLD_DEFAULT, RTLD_NEXT)
LET_THROUGH = "let it through"


def verdict(snapshot: ProcessSnapshot, request: Request) -> Verdict:
    """On a request that has returned. A name outside the API is judged only where something is wrong."""
    if request.is_opening:
        return of_opening(snapshot, request)
    if request.answer is None:
        error = f"; dlerror: {request.error}" if request.error and request.resolver in DLSYMS else ""
        return Verdict("missing", why_missing(snapshot, request) + error)
    if request.resolver in DLSYMS:
        wrong = wrong_object(snapshot, request, request.answer)
        if wrong:
            return Verdict("wrong object", wrong)
    elif not request.name:  # an export table: data, not a function
        return Verdict(verdicts.of_layer(request.answer), "a table of private functions")
    wanted = wanted_symbol(snapshot.table, request)
    if wanted is None:
        return unknown_name(snapshot, request)
    wrong = wrong_version(snapshot, request, wanted, request.answer)
    if wrong:
        return Verdict("wrong version" if is_variant(wanted, request.answer) else "other", wrong)
    word = verdicts.of_layer(request.answer)
    if word not in ("driver", "runtime"):
        return Verdict(word)
    return Verdict("real") if request.is_hooks_own else Verdict(word, why_past(snapshot, request, wanted))


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
    if request.resolver in DLSYMS or not snapshot.table.proc_versions(request.name):
        return Verdict("")
    got = request.answer.name if request.answer else "nothing"
    asked = f"version {version_of(snapshot.table, request)}{flags_text(request)}"
    return Verdict("wrong version", f"{got}, and at {asked} there is no {request.name}")


def flags_text(request: Request) -> str:
    return " for per-thread streams" if flags_of(request) & 2 else ""


def routes(snapshot: ProcessSnapshot, requests: Iterable[Request]) -> list[Route]:
    """The last answer that each object got for each function, as routes."""
    found: dict[tuple[str, str, str], Route] = {}
    for request in requests:
        function = wanted_symbol(snapshot.table, request) or request.name
        if request.returned and not request.is_hooks_own and function in snapshot.api_names:
            way = request.resolver + (f" at {request.version}" if isinstance(request.version, int) else "")
            found[function, way, request.asker.file] = Route(
                function, way, request.asker.file, request.asker.layer, f"request #{request.number}",
                request.answer, request.verdict,
            )  # fmt: skip
    return list(found.values())


# -- objects --------------------------------------------------------------------------------------------------


def of_opening(snapshot: ProcessSnapshot, request: Request) -> Verdict:
    lost = lost_run_path(snapshot, request)
    if request.answer is not None:
        return Verdict("", lost)
    is_only_asked = bool((request.flags or 0) & RTLD_NOLOAD)
    why = request.error or ("it was not loaded yet (RTLD_NOLOAD)" if is_only_asked else "")
    return Verdict("missing", "; ".join(filter(None, (why, lost))))


def lost_run_path(snapshot: ProcessSnapshot, request: Request) -> str:
    """The loader searches where the object says that has called *its* dlopen: an override that calls it on is that
    object. One that jumps there is not: the return address is still the caller's."""
    asker = snapshot.objects.holder(request.asker.address)
    if asker is None or request.owner_layer == "system" or not request.asks_on or not is_searched_for(request.name):
        return ""
    tag, directories = asker.dynamic.run_path
    if not tag or request.owner == snapshot.file_of(asker):
        return ""
    owner, mine = request.owner.rsplit("/", 1)[-1], snapshot.file_of(asker).rsplit("/", 1)[-1]
    return f"not searched: the {tag[3:]} of {mine}, {directories} ({owner} has asked the loader)"


def is_searched_for(path: str) -> bool:
    return bool(path) and "/" not in path


# -- the right function ---------------------------------------------------------------------------------------


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
        return f": {len(got.parameters)} parameters instead of {len(expected.parameters)}"
    pairs = zip(expected.parameters, got.parameters)
    changed = next((f"{g.name} is {g.type.spelling}, not {e.type.spelling}" for e, g in pairs
                    if e.type.spelling != g.type.spelling), "another result type")  # fmt: skip
    return f": {changed}"


def signature(table: api.Table, symbol: str) -> tuple[str, ...]:
    function = table.function(symbol)
    return () if function is None else (function.result.spelling, *(p.type.spelling for p in function.parameters))


# -- the right object -----------------------------------------------------------------------------------------


def searched(snapshot: ProcessSnapshot, request: Request) -> list[Linkage] | None:
    """The objects that the handle means; None where it is no handle that the loader's list knows."""
    asker = snapshot.objects.holder(request.asker.address)
    if request.handle == RTLD_DEFAULT:
        return snapshot.objects.scope(asker) if asker else snapshot.objects.startup
    if request.handle == RTLD_NEXT:
        return snapshot.objects.next_scope(asker) if asker else None
    root = snapshot.objects.of_handle(request.handle or 0)
    if root is None:
        return None
    return snapshot.objects.startup if root is snapshot.objects.all[0] else snapshot.objects.closure(root)


def find(snapshot: ProcessSnapshot, request: Request, scope: list[Linkage]) -> Found | None:
    version = request.version if isinstance(request.version, str) else ""
    return snapshot.objects.lookup(request.name, scope, version, exactly=bool(version))


def wrong_object(snapshot: ProcessSnapshot, request: Request, answer: Reached) -> str:
    scope = searched(snapshot, request)
    if scope is None or not answer.file:  # code of nobody: a thread's variable, the kernel's vdso, made at run time
        return ""
    own = request.asker.layer == "hook" and not request.handed_on and answer.file == request.asker.file
    if own and snapshot.file_of(scope[0]) != answer.file:
        return f"the hook asked {request.handle_text} and was given its own function: calling that recurses"
    found = find(snapshot, request, scope)
    if found is None:
        return says_nothing(snapshot, request, answer)
    right = snapshot.file_of(found.linkage)
    if answer.layer == "hook" or right == answer.file or is_pseudo(request) or is_indirect(found):
        return ""
    has_its_own = found.linkage is scope[0]
    return f"{request.handle_text} has its own" if has_its_own else \
        f"{request.handle_text} has it in {right.rsplit('/', 1)[-1]}"  # fmt: skip


def is_indirect(found: Found) -> bool:
    """The code that such a function stands for may be in any object."""
    symbol = found.linkage.dynamic.image.lookup(found.definition.name)
    return symbol is not None and symbol.is_indirect


def says_nothing(snapshot: ProcessSnapshot, request: Request, answer: Reached) -> str:
    """Somebody answers for a library that has no such function. (RTLD_GLOBAL is not known here: no verdict then.)"""
    elsewhere = any(one.symbols.find(request.name) for one in snapshot.in_layer("driver", "runtime"))
    program = snapshot.objects.all[0].image.handle
    if (is_pseudo(request) and elsewhere) or (answer.layer != "hook" and request.handle in (*PSEUDO, program)):
        return ""
    who = "the hook" if answer.layer == "hook" else answer.object
    return f"{request.handle_text} has no {request.name}; {who} answers all the same"


def is_pseudo(request: Request) -> bool:
    return request.handle in PSEUDO


def why_missing(snapshot: ProcessSnapshot, request: Request) -> str:
    if request.resolver not in DLSYMS:
        return status_text(snapshot.table, request)
    holders = [one for one in snapshot.objects.all if one.symbols.find(request.name)]
    holders.sort(key=lambda one: snapshot.layers[one] not in ("driver", "runtime"))
    if not holders:
        return "no loaded object has it"
    file = snapshot.file_of(holders[0]).rsplit("/", 1)[-1]
    scope = searched(snapshot, request) or []
    if request.handle == RTLD_NEXT and holders[0] not in snapshot.objects.startup:
        return f"{file} has it, but was loaded by dlopen: RTLD_NEXT does not look there"
    if holders[0] not in scope:
        return f"{file} has it, {request.handle_text} does not reach it"
    if find(snapshot, request, scope) is None:
        return f"{file} has it, not in version {request.version}"
    return f"{file} has it: {request.owner.rsplit('/', 1)[-1]} refused"


def status_text(table: api.Table, request: Request) -> str:
    enum = table.enum(STATUS_TYPE)
    name = enum.name_of(request.status) if enum and request.status else None
    if name:
        return name.replace("CU_GET_PROC_ADDRESS_", "").replace("_", " ").lower()
    function = table.function(request.resolver)
    known = table.error_name(function.api, request.result) if function and request.result else None
    return known or ""


def why_past(snapshot: ProcessSnapshot, request: Request, wanted: str) -> str:
    if not snapshot.hooks:
        return "no hook library is loaded"
    owner = request.owner.rsplit("/", 1)[-1]
    if request.owner_layer != "hook":
        return f"{owner} was asked, not the hook"
    has_it = wanted in snapshot.hooked_names or snapshot.is_hidden(wanted)
    return f"{owner}'s {request.resolver} {LET_THROUGH}" + (f", though it has {wanted}" if has_it else "")


def is_left_to_the_driver(request: Request) -> bool:
    """The hook was asked for a function that it does not have: no hook library has all."""
    return request.verdict.why.endswith(LET_THROUGH)
