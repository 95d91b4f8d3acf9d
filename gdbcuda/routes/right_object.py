"""Where a request is searched for, and what is wrong with an answer that comes from another object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbcuda.routes.shapes import RTLD_DEFAULT, RTLD_NEXT, RTLD_NOLOAD
from gdbcuda.routes.verdicts import Verdict

if TYPE_CHECKING:
    from gdbcuda.linkage import Found, Linkage
    from gdbcuda.routes.requests import Request
    from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

PSEUDO = (RTLD_DEFAULT, RTLD_NEXT)


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
    if answer.layer == "hook" or right == answer.file or is_pseudo(request):
        return ""
    if is_code_of_indirect(snapshot, found, scope, answer):
        return ""
    has_its_own = found.linkage is scope[0]
    return f"{request.handle_text} has its own" if has_its_own else \
        f"{request.handle_text} has it in {right.rsplit('/', 1)[-1]}"  # fmt: skip


def other_function(snapshot: ProcessSnapshot, request: Request, answer: Reached) -> Verdict:
    """On a name that is none of the API's: is the answer a function of another name? Code without an exported name may
    be what an indirect function stands for; what a hook library or the program answers with is meant."""
    scope, holder = searched(snapshot, request), snapshot.objects.holder(answer.address)
    if scope is None or holder is None or answer.layer in ("hook", "app"):
        return Verdict("")
    names, found = holder.symbols.by_address.get(answer.address, ()), find(snapshot, request, scope)
    if not names or request.name in names:
        return Verdict("")
    if found is None or found.linkage is holder:
        return Verdict("other", f"{names[0]} in the place of {request.name}")
    right = snapshot.file_of(found.linkage).rsplit("/", 1)[-1]
    return Verdict("wrong object", f"{names[0]} in the place of {right}'s {request.name}")


def is_code_of_indirect(snapshot: ProcessSnapshot, found: Found, scope: list[Linkage], answer: Reached) -> bool:
    """The code that an indirect function stands for may be in any object; what an object outside of the handle exports
    under the same name is that object's own function."""
    symbol = found.linkage.dynamic.image.lookup(found.definition.name)
    if symbol is None or not symbol.is_indirect:
        return False
    holder = snapshot.objects.holder(answer.address)
    names = holder.symbols.by_address.get(answer.address, ()) if holder else ()
    return holder in scope or found.definition.name not in names


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
