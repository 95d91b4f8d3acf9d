"""The verdict on a request: was the answer the function that was asked for, and whose is it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda.routes import verdicts
from gdbcuda.routes.collect import Route
from gdbcuda.routes.right_function import is_variant, unknown_name, wanted_symbol, wrong_version
from gdbcuda.routes.right_object import find, of_opening, other_function, searched, wrong_object
from gdbcuda.routes.shapes import DLSYMS, RTLD_NEXT
from gdbcuda.routes.verdicts import Verdict

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request
    from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

STATUS_TYPE = "CUdriverProcAddressQueryResult"
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
        return outside_the_api(snapshot, request, request.answer)
    wrong = wrong_version(snapshot, request, wanted, request.answer)
    if wrong:
        return Verdict("wrong version" if is_variant(wanted, request.answer) else "other", wrong)
    word = verdicts.of_layer(request.answer)
    if word not in ("driver", "runtime"):
        return Verdict(word)
    return Verdict("real") if request.is_hooks_own else Verdict(word, why_past(snapshot, request, wanted))


def outside_the_api(snapshot: ProcessSnapshot, request: Request, answer: Reached) -> Verdict:
    is_asked_of_loader = request.resolver in DLSYMS
    return other_function(snapshot, request, answer) if is_asked_of_loader else unknown_name(snapshot, request)


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


def why_missing(snapshot: ProcessSnapshot, request: Request) -> str:
    if request.resolver not in DLSYMS:
        return status_text(snapshot.table, request)
    holders = [one for one in snapshot.objects.all if one.symbols.find(request.name)]
    if not holders:
        return "no loaded object has it"
    scope = searched(snapshot, request) or []
    holders.sort(key=lambda one: (snapshot.layers[one] not in ("driver", "runtime"), one not in scope))
    file = snapshot.file_of(holders[0]).rsplit("/", 1)[-1]
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
    having = [snapshot.file_of(hook) for hook in snapshot.hooks if hook.symbols.find(wanted)]
    has_it = request.owner in having or (not having and snapshot.is_hidden(wanted))
    who = "it" if has_it else having[0].rsplit("/", 1)[-1] if having else ""
    return f"{owner}'s {request.resolver} {LET_THROUGH}" + (f", though {who} has {wanted}" if who else "")


def is_left_to_the_driver(request: Request) -> bool:
    """The hook was asked for a function that it does not have: no hook library has all."""
    return request.verdict.why.endswith(LET_THROUGH)
