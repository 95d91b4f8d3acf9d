"""Is what is reached what should be? One word, and why.

hooked         the hook library answers
driver         the vendor's library does, past the hook (driver or NVML)
runtime        libcudart does: a hook of the driver sits below it
other          some other object does
missing        nothing does
wrong version  a function of another version, or for another default stream, than was asked for
wrong object   the handle was for one library and another one answers, or the hook was given itself
real           the hook's own way on, to the next hook library or to the vendor
"""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda import api
from gdbcuda.linkage import Linkage
from gdbcuda.linkage.objects import fits
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

UNBOUND = "not called yet"
_SHOWS_REQUEST = "cuda-dlsym log on, from the start, shows the request"
RESOLVERS = frozenset(("cuGetProcAddress", "cuGetProcAddress_v2"))
WORDS = ("hooked", "driver", "runtime", "other", "missing", "wrong version", "wrong object", "real")
ROLES = {"hooked": "ok", "real": "ok", "driver": "warning", "runtime": "note", "other": "warning", "missing": "dim",
         "wrong version": "error", "wrong object": "error"}  # fmt: skip


class Verdict(NamedTuple):
    word: str
    why: str = ""


def of_layer(reached: Reached | None) -> str:
    if reached is None:
        return "missing"
    return {"hook": "hooked", "driver": "driver", "runtime": "runtime"}.get(reached.layer, "other")


def of_reference(
    snapshot: ProcessSnapshot, asker: Linkage, name: str, reached: Reached | None, way: str = "PLT"
) -> Verdict:
    """The verdict on a PLT or GOT slot, or a pointer, of one object; ``way`` is the route's."""
    if reached is None:
        return Verdict("missing", "NULL: nothing defined it when it was bound")
    if snapshot.layers[asker] == "hook":
        return of_hook(snapshot, asker, reached, way)
    wrong = other_version(snapshot.table, name, reached)
    if wrong:
        return Verdict("wrong version", wrong)
    word = of_layer(reached)
    if word in ("hooked", "other"):
        return Verdict(word)
    return Verdict(word, why_not_hooked(snapshot, asker, name, reached, way))


def of_hook(snapshot: ProcessSnapshot, asker: Linkage, reached: Reached, way: str) -> Verdict:
    if reached.file == snapshot.file_of(asker):
        is_called = way in ("PLT", UNBOUND)  # an address may be kept for other ends: to hand it out, to compare with it
        return Verdict("hooked", "the hook calls its own function" if is_called else "the hook's own function")
    return Verdict("real", "the next hook library" if reached.layer == "hook" else "")


def other_version(table: api.Table, name: str, reached: Reached) -> str:
    """What is wrong with a function of another name at the place of ``name``; "" if nothing is known to be."""
    found = [table.function(known) for known in reached.names]
    if name in reached.names or not any(found) or table.function(name) is None:
        return ""
    first = next(f for f in found if f is not None)
    return f"{first.symbol} in the place of {name}"


def why_not_hooked(snapshot: ProcessSnapshot, asker: Linkage, name: str, reached: Reached, way: str) -> str:
    """In the user's words, most useful first."""
    if not snapshot.hooks:
        files = ", ".join(snapshot.unsearched_hooks)
        binds = "may yet bind" if way in (UNBOUND, "by name") else "has not bound"
        return f"{files} {binds} it elsewhere" if files else "no hook library is loaded"
    hook = snapshot.hooked_names.get(name)
    if hook is None:
        unnamed = way == "pointer" and not snapshot.hooked_names and has_dlsym(snapshot)
        return _unnamed_not_answered(snapshot) if unnamed else not_defined(snapshot, name, reached)
    file = snapshot.name_of(hook)
    if way == "pointer":
        return why_not_answered(snapshot, file, name)
    version = other_symbol_version(hook, asker, name)
    if version:
        return f"{file} has it as {name}@@{version} (a version script): the loader looks for another version"
    if reached.file == snapshot.file_of(asker):
        return f"{reached.object} is linked with -Bsymbolic: its own definition comes first" \
            if asker.dynamic.is_symbolic else f"{reached.object} has its own"  # fmt: skip
    if hook not in snapshot.objects.startup:
        return f"{file} was loaded by dlopen, not preloaded: the loader does not search it"
    order = snapshot.objects.startup
    ahead = next((one for one in order if snapshot.file_of(one) == reached.file), None)
    if ahead is not None and order.index(ahead) < order.index(hook):
        return f"{file} is behind {reached.object} in the search order"
    return f"{file} has it, and is passed by: loaded with RTLD_DEEPBIND, or in a namespace of its own (dlmopen)"


def why_not_answered(snapshot: ProcessSnapshot, file: str, name: str) -> str:
    """The asker has not found the function by name: a resolver has handed it out."""
    if not has_dlsym(snapshot):
        return f"{file} has it and no dlsym: who asks with the handle of a library gets that library's"
    function = snapshot.table.function(name)
    if function is not None and function.api == "driver" and not RESOLVERS & snapshot.hooked_names.keys():
        return f"{file} has it and no cuGetProcAddress: who asks that gets the driver's"
    return f"{file} has it, and did not answer with it ({_SHOWS_REQUEST})"


def _unnamed_not_answered(snapshot: ProcessSnapshot) -> str:
    """The asker was handed it out, and what a library that exports dlsym alone has for it no name tells."""
    files = ", ".join(snapshot.name_of(hook) for hook in snapshot.hooks)
    return f"{files} did not answer with a function of its own ({_SHOWS_REQUEST})"


def other_symbol_version(hook: Linkage, asker: Linkage, name: str) -> str:
    """The version that the hook's linker has given the function, if the loader passes it by for that; else ""."""
    wanted = next((asker.symbols.versions.of(index)[0] for index in asker.symbols.undefined({name})), "")
    offered = hook.symbols.find(name)
    return "" if any(fits(one, wanted, strict=False) for one in offered) else next((one.version for one in offered), "")


def not_defined(snapshot: ProcessSnapshot, name: str, reached: Reached) -> str:
    files = ", ".join(snapshot.name_of(hook) for hook in snapshot.hooks)
    if snapshot.is_hidden(name):
        return f"hidden in {files}: the loader finds exported functions only"
    base = api.base_name(name)
    variants = [known for known in snapshot.hooked_names if api.base_name(known) == base]
    if variants:
        return f"not in {files}, only {', '.join(sorted(variants))}"
    is_below = offers_names(snapshot) and not any(runtime(snapshot, known) for known in snapshot.hooked_names)
    if reached.layer == "runtime" and is_below:
        return f"{files} hooks below the runtime"
    if not snapshot.hooked_names:
        only = "only dlsym" if has_dlsym(snapshot) else "nor dlsym: no name leads to it"
        return f"{files} exports no API function, {only}"
    return f"not in {files}"


def has_dlsym(snapshot: ProcessSnapshot) -> bool:
    return any(hook.symbols.find("dlsym") for hook in snapshot.hooks)


def offers_names(snapshot: ProcessSnapshot) -> bool:
    """Else it rewrites slots or entries, if it hooks anything: what is below which is not known of it."""
    return bool(snapshot.hooked_names) or has_dlsym(snapshot)


def runtime(snapshot: ProcessSnapshot, name: str) -> bool:
    function = snapshot.table.function(name)
    return function is not None and function.api == "runtime"
