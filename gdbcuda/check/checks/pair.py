"""The program and the hook library together: will it be reached, by which way, for which functions not."""

from __future__ import annotations

import os

from gdbcuda.api.vendor import NAMES
from gdbcuda.check.registry import ANY, LIBRARY, PAIR, PROGRAM, Answer, Answered, check, findings
from gdbcuda.check.subjects.other_ways import BY_HANDLE, offers_names, other_ways
from gdbcuda.check.subjects.reached_hook import Routes
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.text.sentences import counted, some


def _library(subject: Subject) -> str:
    return os.path.basename(subject.library.path)


@check(
    "different-machines", "error", PAIR,
    means="the loader leaves the library out: `wrong ELF class` or `cannot be preloaded: ignored`",
    do="compile both for one machine",
    verdict="will not be reached: another machine",
    fatal=True,
)  # fmt: skip
def different_machines(subject: Subject) -> Answer:
    pair = [(file.machine, file.header.bits) for file in (subject.program, subject.library)]
    words = [f"{machine}, {bits} bits" for machine, bits in pair]
    return None if pair[0] == pair[1] else f"program {words[0]}; {_library(subject)} {words[1]}"


@check(
    "hook-fails", "error", PAIR,
    means="the program ends before a hook is called, or the library is left out",
    do="mend the hook library first: gdbcuda check LIB",
    verdict="will not run under this hook library",
    fatal=True,
)  # fmt: skip
def hook_fails(subject: Subject) -> Answer:
    if subject.file is subject.library:
        return None  # its own findings say so
    own = Subject(subject.library, subject.library, None, subject.table, subject.root)
    fatal = [f"{each.id}: {each.seen}" for each in findings(own, (ANY, LIBRARY)) if each.fatal]
    return some(fatal) if fatal else None


@check(
    "program-ignores-preload", "error", PAIR,
    means="nothing can be preloaded into the program",
    verdict="will not be reached: nothing can be preloaded into the program",
    fatal=True,
)  # fmt: skip
def program_ignores_preload(subject: Subject) -> Answer:
    if subject.file is subject.program:
        return None  # its own findings say so
    own = Subject(subject.program, None, subject.program, subject.table, subject.root)
    worst = next((each for each in findings(own, (PROGRAM,)) if each.fatal), None)
    name = os.path.basename(subject.program.path)
    return Answered(f"{name}: {worst.seen}", worst.do, worst.means, verdict=worst.verdict) if worst else None


@check("reached", "note", PAIR, means="these calls of the program arrive in the hook library")
def reached(subject: Subject) -> Answer:
    ways = Routes(subject).described()
    return f"{_library(subject)} is reached {some(ways)}" if ways else None


@check(
    "not-reached", "error", PAIR,
    means="no call of this program arrives in the hook library",
    do="export what the program calls by name, and define dlsym for what it loads",
    verdict="will not be reached by this program",
)  # fmt: skip
def not_reached(subject: Subject) -> Answer:
    routes = Routes(subject)
    if routes.described() or routes.perhaps or other_ways(subject) or not subject.uses.any:
        return None
    wants = [f"calls {some(list(subject.uses.called), 4)} by name"] if subject.uses.called else []
    loaded = routes.loaded or list(subject.uses.loads)
    wants += [f"loads {some([NAMES[api] for api in loaded])}"] if loaded else []
    dlsym = "a dlsym" if "dlsym" in subject.library.exported else "no dlsym"
    offers = f"exports {counted(len(subject.hooked), 'API function')} and {dlsym}"
    if routes.other_version:
        offers += f", {some(routes.other_version, 4)} in another version than the program asks for"
    return f"the program {some(wants) or 'uses CUDA'}; {_library(subject)} {offers}"


@check(
    "reached-otherwise", "warning", PAIR,
    means="", verdict="unknown whether it is reached by this program", instead_of="other-way",
)  # fmt: skip
def reached_otherwise(subject: Subject) -> Answer:
    routes, found = Routes(subject), other_ways(subject)
    if routes.described() or routes.perhaps or not found or not subject.uses.any:
        return None
    seen, means, do = ("; ".join(column) for column in zip(*found))
    return Answered(f"{_library(subject)} {seen}", do, means)


@check(
    "called-but-hidden", "error", PAIR,
    means="the program calls them by name and gets the vendor's: the hook does not export its own",
    do='write __attribute__((visibility("default"))) before each of them',
    verdict="will not be reached for functions that it defines",
)  # fmt: skip
def called_but_hidden(subject: Subject) -> Answer:
    names = Routes(subject).hidden
    if not names:
        return None
    seen = f"calls {some(names)} by name; {_library(subject)} defines them without exporting"
    return Answered(seen, verdict=_by_api(subject, names))


def _by_api(subject: Subject, past: list[str]) -> str:
    """A verdict on each API, where one is reached and the other, whose functions are called by name, is not."""
    routes = Routes(subject)
    arrives = {*routes.through_dlsym, *(["driver"] if routes.through_proc_address else [])}
    arrives |= {subject.uses.called[name].api for name in routes.by_name}
    goes_past = {subject.uses.called[name].api for name in past} - arrives
    if not arrives or not goes_past:
        return ""
    words = [some([NAMES[api] for api in sorted(apis)]) for apis in (arrives, goes_past)]
    return f"{words[0]} will be reached by this program, {words[1]} will not"


@check(
    "linked-past-dlsym", "error", PAIR,
    means="the program is linked to the vendor's library; a hook that only answers dlsym is not asked",
    do='export the functions: __attribute__((visibility("default")))',
    verdict="will not be reached by this linked program",
)  # fmt: skip
def linked_past_dlsym(subject: Subject) -> Answer:
    if subject.hooked or subject.hidden or not Routes(subject).described():
        return None  # nothing at all arrives: not-reached says so
    names = [name for name, function in subject.uses.called.items() if function.api != "runtime"]
    if not names:
        return None
    seen = f"calls {some(names)} by name; {_library(subject)} exports dlsym only"
    return Answered(seen, verdict=_by_api(subject, names))


@check(
    "called-not-hooked",
    "note",
    PAIR,
    means="the program calls these by name, and they go to the vendor's library",
)
def called_not_hooked(subject: Subject) -> Answer:
    names = Routes(subject).not_hooked
    return some(names, 8) if names else None


@check(
    "loaded-past-hook", "warning", PAIR,
    means="the program, or the CUDA runtime in it, loads the vendor's library and asks dlsym, which the hook does not "
          "answer; only dlsym(RTLD_DEFAULT, ...) finds what the hook exports",
    do="define dlsym in the hook library",
)  # fmt: skip
def loaded_past_hook(subject: Subject) -> Answer:
    routes = Routes(subject)
    if not routes.loaded or not offers_names(subject) or "dlsym" in subject.library.exported:
        return None
    unsure = routes.perhaps and not routes.described()
    seen = f"loads {some([NAMES[api] for api in routes.loaded])}; {_library(subject)} exports no dlsym"
    if "dlopen" in subject.library.exported:
        verdict = "" if routes.described() else "unknown whether it is reached by this program"
        return Answered(f"{seen}, and a dlopen", BY_HANDLE.do, BY_HANDLE.means, verdict=verdict)
    return Answered(
        seen,
        verdict="may not be reached by this program" if unsure else "",
    )


@check(
    "runtime-past-hook", "warning", PAIR,
    means="the CUDA runtime in the program asks dlsym for cuGetProcAddress only, and that for everything else: it "
          "gets the driver's functions",
    do="define cuGetProcAddress and cuGetProcAddress_v2, and hand them out in dlsym",
)  # fmt: skip
def runtime_past_hook(subject: Subject) -> Answer:
    routes = Routes(subject)
    if not routes.runtime or "driver" not in routes.apis or "dlsym" not in subject.library.exported:
        return None
    return None if routes.through_proc_address else f"{_library(subject)} answers dlsym and has no cuGetProcAddress"


@check(
    "runtime-inside-program", "warning", PAIR,
    means="the program brings its own: these hooks are never called",
    do="nvcc --cudart shared, or hook the driver functions",
)  # fmt: skip
def runtime_inside_program(subject: Subject) -> Answer:
    if not subject.uses.static_runtime or "runtime" in subject.uses.linked:
        return None
    names = [name for name in subject.in_order if subject.hooked[name].api == "runtime"]
    if not names:
        return None
    # no harm where the driver functions that they end in are hooked too
    severity = "note" if Routes(subject).through_proc_address else ""
    return Answered(f"{_library(subject)} hooks {some(names, 3)}", severity=severity)
