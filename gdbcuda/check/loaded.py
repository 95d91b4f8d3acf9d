"""What is really loaded: is the hook library in this process, in front, alive, and not walked around?

The findings of a live process, in the shape of those of a file (`gdbcuda.check`).
(ld.so(8): LD_PRELOAD, secure execution; dlopen(3): RTLD_DEEPBIND; dlmopen(3); getauxval(3): AT_SECURE.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.api import vendor
from gdbcuda.check import several_copies
from gdbcuda.check.finding import Finding
from gdbcuda.files import places
from gdbcuda.linkage import Linkage
from gdbcuda.routes import answering, collect, verdicts
from gdbcuda.routes.snapshot import ProcessSnapshot
from gdbcuda.text.sentences import some

OWN = (places.AGENT, places.TRACER)  # they export nothing that a program looks for
PRELOAD_AGAIN = "start it through cuda-load, which leaves the rest of the environment alone"


class Facts(NamedTuple):
    """What the objects do not tell. ``preload``: LD_PRELOAD of the process, None where its environment is not known.
    ``initialised``: the constructors have run; None where that cannot be seen. ``static_runtime``: the program has
    libcudart inside. ``namespaces``: (file, layer) of the objects in each further namespace (dlmopen). ``lacking``: why
    nothing is known of an object's contents, for each such object (core files)."""

    named_hooks: tuple[str, ...] = ()
    is_static: bool = False
    is_secure: bool = False
    preload: str | None = None
    initialised: bool | None = None
    debugger_maps: tuple[str, ...] = ()
    static_runtime: bool = False
    namespaces: tuple[tuple[tuple[str, str], ...], ...] = ()
    lacking: tuple[str, ...] = ()


def base(path: str) -> str:
    return os.path.basename(path)


def without_loader(facts: Facts) -> list[Finding]:
    """Where ld.so has no list: a static program, or one that has not got that far."""
    if not facts.is_static:
        return [Finding("not-started", "note", "ld.so has not mapped anything yet", "nothing can be said so far",
                        "go on to main:  tbreak main, then run (or continue, where a gdbserver has started it)",
                        "the program has not begun")]  # fmt: skip
    return [Finding("static-program", "error", "the program has no dynamic loader (AT_BASE is 0)",
                    "LD_PRELOAD is ignored, no hook library can be reached", "link the program dynamically",
                    "the hook is inert")]  # fmt: skip


def findings(snapshot: ProcessSnapshot, facts: Facts) -> list[Finding]:
    """Everything, the hook libraries one after the other, then what goes around them."""
    mapped = snapshot.objects.all
    judged = [(path, [one for one in mapped if base(snapshot.file_of(one)) == base(path)])
              for path in facts.named_hooks]  # fmt: skip
    if not facts.named_hooks:
        judged = [(snapshot.file_of(copies[0]), copies) for copies in libraries(snapshot)]
    found = [finding for path, copies in judged for finding in of_hook(snapshot, facts, path, copies)]
    return [*found, *bypasses(snapshot, facts), *other_namespaces(facts), *unknown_objects(facts)]


def libraries(snapshot: ProcessSnapshot) -> list[list[Linkage]]:
    """The hook libraries, each with its copies: two that are called the same may be two libraries."""
    found: dict[tuple[str, str | None], list[Linkage]] = {}
    for hook in snapshot.hooks:
        found.setdefault((base(snapshot.file_of(hook)), hook.image.build_id), []).append(hook)
    return list(found.values())


def of_hook(snapshot: ProcessSnapshot, facts: Facts, path: str, copies: list[Linkage]) -> Iterator[Finding]:
    if not copies:
        yield not_mapped(facts, path)
    else:
        yield in_place(snapshot, facts, copies[0])
    if len(copies) > 1:
        places = ", ".join(f"{snapshot.file_of(one)} at {one.image.base:#x}" for one in copies)
        yield Finding("hook-mapped-twice", "error", places,
                      "two copies with their own state each: what one counts the other does not see",
                      "preload exactly the file that others name in DT_NEEDED or dlopen")  # fmt: skip
    if any(base(mapped) == base(path) for mapped in facts.debugger_maps):
        yield Finding("hook-in-debugger", "warning", f"{base(path)} is mapped in the debugger itself",
                      "LD_PRELOAD was exported before gdb was started: gdb and its helpers run with the hook too",
                      "unset LD_PRELOAD in the shell, and name the library with cuda-load")  # fmt: skip


def not_mapped(facts: Facts, path: str) -> Finding:
    """Not there, and why, as far as the process tells."""
    name, id, why, do = base(path), "hook-not-mapped", "nothing in the process tells why", PRELOAD_AGAIN
    if facts.is_secure:
        id, why = "secure-execution", "the program runs setuid, setgid or with capabilities (AT_SECURE is 1): " \
            "ld.so takes a preload from its trusted directories only"  # fmt: skip
        do = "run it as the user that it changes to, or name the library in /etc/ld.so.preload"
    elif facts.preload is not None and name not in facts.preload:
        id, why = "preload-lost", "LD_PRELOAD of this process does not name it: it was started with a cleaned " \
            "environment, as the child of one that had it, or before cuda-load"  # fmt: skip
        do = f"hand LD_PRELOAD on where the process is started, or {PRELOAD_AGAIN}"
    elif facts.preload:
        id, why = "preload-failed", "LD_PRELOAD names it, and ld.so did not load it: no such file there, another " \
            "machine's, or a library that it needs is missing; ld.so has said so on stderr"  # fmt: skip
        do = f"cuda-check {path}"
    return Finding(id, "error", f"{name} is not in this process; {why}", "no call reaches it", do, "the hook is inert")


def in_place(snapshot: ProcessSnapshot, facts: Facts, hook: Linkage) -> Finding:
    """Where the library is in the search order, and whether it has begun to work."""
    name, startup = snapshot.name_of(hook), snapshot.objects.startup
    if not hook.symbols.defined(snapshot.api_names | snapshot.resolver_names):
        return by_other_ways(snapshot, hook)
    if hook not in startup:
        return Finding("hook-dlopened", "error", f"{name} came with dlopen, behind the objects of the start",
                       "functions called by name are never looked for in it",
                       f"preload it: cuda-load {snapshot.file_of(hook)}",
                       "the hook is inert for calls by name")  # fmt: skip
    before = [one for one in startup[1 : startup.index(hook)] if base(snapshot.file_of(one)) not in OWN]
    strangers = [snapshot.name_of(one) for one in before if is_stranger(snapshot, facts, one)]
    place = f"{name} is mapped at {hook.image.base:#x}"
    if strangers:
        return Finding("hook-not-first", "warning", f"{place}, in the search order behind {', '.join(strangers)}",
                       "what those define too is theirs", "name it first in LD_PRELOAD")  # fmt: skip
    rank = (
        "behind " + ", ".join(map(snapshot.name_of, before)) if before else "first in the search order"
    )
    if facts.initialised is False:
        return Finding("hook-not-initialised", "note", f"{place}, {rank}; its constructors have not all run",
                       "ld.so is still at work: tables that a constructor fills may be empty",
                       "go on to main")  # fmt: skip
    means = "it is searched " + ("after these hook libraries" if before else "first")
    return Finding("hook-active", "note", f"{place}, {rank}, initialised", means)


def by_other_ways(snapshot: ProcessSnapshot, hook: Linkage) -> Finding:
    """It exports nothing that is looked for, so where it is in the search order says nothing (an injection library)."""
    file, place = snapshot.file_of(hook), f"{base(snapshot.file_of(hook))} is mapped at {hook.image.base:#x}"
    arrive = arriving(snapshot, file)
    if not arrive:
        return Finding("hook-by-other-ways", "note",
                       f"{place}; no slot of the program and no entry of the driver leads there",
                       "it exports no function of the API, nor dlsym: nothing of it is found by name",
                       "look again when it has begun its work:  cuda-route, cuda-layers",
                       "unknown whether calls arrive in the hook")  # fmt: skip
    return Finding("hook-by-other-ways", "note", f"{place}; these calls of the program lead there: {some(arrive)}",
                   "by rewritten slots or overwritten entries, for it exports no function of the API, nor dlsym")


def arriving(snapshot: ProcessSnapshot, file: str) -> list[str]:
    """The functions of which a reference of the program or the runtime, or an overwritten entry, leads into that
    file."""
    callers = snapshot.in_layer("app", "runtime")
    routes = [route for one in callers for route in collect.references(snapshot, one, snapshot.api_names)]
    found = {route.function for route in routes if route.reached is not None and route.reached.file == file}
    entries = answering.by_entries(snapshot, snapshot.api_names)
    return sorted(found | {entry.function for entry in entries if entry.reached.file == file})


def is_stranger(snapshot: ProcessSnapshot, facts: Facts, one: Linkage) -> bool:
    """No hook library, or one that the user has not named: that it is there may be news. (A sanitizer has to be
    first.)"""
    if vendor.is_sanitizer(snapshot.file_of(one)):
        return False
    named = [base(path) for path in facts.named_hooks]
    return snapshot.layers[one] != "hook" or (bool(named) and base(snapshot.file_of(one)) not in named)


# -- ways around it -------------------------------------------------------------------------------------------


def bypasses(snapshot: ProcessSnapshot, facts: Facts) -> Iterator[Finding]:
    named = [base(path) for path in facts.named_hooks]
    for one in snapshot.objects.all:
        if snapshot.layers[one] in ("app", "runtime"):
            yield from around(snapshot, one)
        is_another_hook = snapshot.layers[one] == "hook" and named and base(snapshot.file_of(one)) not in named
        if snapshot.layers[one] == "app" or is_another_hook:
            yield from bound_to_itself(snapshot, one)
    if facts.static_runtime:
        yield from static_runtime(snapshot)
    yield from several_copies.findings(snapshot)


def around(snapshot: ProcessSnapshot, asker: Linkage) -> Iterator[Finding]:
    """References of one object that go past a hook library which has the function."""
    found = collect.references(snapshot, asker, frozenset(snapshot.hooked_names))
    routes = [route for route in found if "RTLD_DEEPBIND" in route.verdict.why]
    name = base(snapshot.file_of(asker))
    if routes:
        shown = ", ".join(sorted(route.function for route in routes)[:4])
        yield Finding("deepbind", "error", f"{name} is bound past the hook: {shown}",
                      "it was loaded with RTLD_DEEPBIND: its own libraries come first for it",
                      "let it be loaded without RTLD_DEEPBIND", f"{name} goes past the hook")  # fmt: skip


def bound_to_itself(snapshot: ProcessSnapshot, asker: Linkage) -> Iterator[Finding]:
    """An object that is not the hook library that is meant, and has API functions of its own."""
    own = sorted(asker.symbols.defined(snapshot.api_names)) if asker.dynamic.is_symbolic else []
    if own:
        yield Finding("symbolic", "warning",
                      f"{base(snapshot.file_of(asker))} is linked with -Bsymbolic and defines {', '.join(own[:4])}",
                      "its own calls of these never leave it", "link it without -Bsymbolic")  # fmt: skip


def static_runtime(snapshot: ProcessSnapshot) -> Iterator[Finding]:
    program = snapshot.objects.all[0]
    if not any(verdicts.runtime(snapshot, name) for name in snapshot.hooked_names):
        return
    yield Finding("static-runtime", "warning", f"{base(snapshot.file_of(program))} contains the CUDA runtime",
                  "the hook's cuda... functions are never reached; its driver functions are",
                  "hook the driver, or build the program with --cudart shared")  # fmt: skip


def other_namespaces(facts: Facts) -> Iterator[Finding]:
    for number, objects in enumerate(facts.namespaces, 1):
        vendors = sorted(base(file) for file, layer in objects if layer in ("driver", "runtime"))
        if vendors and not any(layer == "hook" for _, layer in objects):
            seen = f"namespace {number} (dlmopen) has {', '.join(vendors)}, and no hook library"
            yield Finding("namespace", "error", seen, "calls from there never see what LD_PRELOAD named",
                          "load it with dlopen", "a dlmopen namespace goes past the hook")  # fmt: skip


def unknown_objects(facts: Facts) -> Iterator[Finding]:
    for why in facts.lacking:
        yield Finding("contents-missing", "warning", why,
                      "its functions are not known here, nor what it refers to",
                      "say where the right file is (set solib-search-path DIR, or set sysroot), and open the core file again")  # fmt: skip  # noqa: E501
