"""What happens when it is loaded: needed libraries, versions, constructors, thread-local storage."""

from __future__ import annotations

import re
from collections import Counter

from gdbcuda.api.vendor import NAMES, api_of
from gdbcuda.check.registry import ANY, LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.text.demangling import readable
from gdbcuda.text.sentences import counted, some

_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)+)$")
MUSL = "libc.so"  # its own name; glibc's has a number
_SIGNED_WORD = {64: 8, 32: 4}


@check(
    "needs-vendor", "warning", LIBRARY,
    means="every program that it is preloaded into loads this too, or does not start where there is no driver "
          "(`cannot open shared object file`)",
    do="link without it; find the real functions with dlsym when they are first called",
)  # fmt: skip
def needs_vendor(subject: Subject) -> Answer:
    names = [name for name in subject.library.needed if api_of(name)]
    if not names or api_of(subject.library.soname):
        return None
    return f"DT_NEEDED {some(names)}, in the order {some(list(subject.library.needed), 9)}"


@check(
    "library-not-found", "warning", ANY,
    means="`cannot open shared object file`: preloaded, it is left out; a program does not start",
)  # fmt: skip
def library_not_found(subject: Subject) -> Answer:
    missing = [name for name in subject.libraries.missing if not api_of(name)]
    vendor = [name for name in subject.libraries.missing if api_of(name)]
    place = subject.root.directory or "this machine"
    if missing == [MUSL]:
        return Answered(
            f"needs {MUSL}: it is built for musl",
            means="a program of musl's loads it; one of glibc's leaves it out where it is preloaded",
            do="compile it with glibc's gcc for those",
        )
    if missing:
        return Answered(f"{some(missing)} not on {place}", do="install it, or set LD_LIBRARY_PATH to where it is")
    if not vendor:
        return None
    return Answered(
        f"{some(vendor)} not on {place}: no driver here",
        means="it runs where the driver is; here a stand-in can take its place",
        do="LD_LIBRARY_PATH=DIRECTORY_OF_THE_STAND_IN",
        severity="note",
    )


@check("glibc-needed", "note", ANY, means="the container or machine that it runs on must be at least that new")
def glibc_needed(subject: Subject) -> Answer:
    newest = _newest(need.version for need in subject.file.versions.needed)
    return f"newest version needed: {_name(newest)} ({_users(subject, newest)})" if newest else None


@check(
    "glibc-too-old", "error", ANY,
    means="the loader refuses it: `version not found`",
    do="compile it on (or in a container of) the oldest system that it shall run on",
    verdict="will not be loaded here: needs a newer glibc",
    fatal=True,
)  # fmt: skip
def glibc_too_old(subject: Subject) -> Answer:
    libc = subject.root.find("libc.so.6", subject.file)
    newest = _newest(need.version for need in subject.file.versions.needed)
    there = _newest(name for _, name in libc.versions.defined) if libc else ()
    if not libc or not newest or newest <= there:
        return None
    return f"needs {_name(newest)} ({_users(subject, newest)}); {libc.path} has {_name(there)}"


def _newest(versions: object) -> tuple[int, ...]:
    assert hasattr(versions, "__iter__")
    numbers = (tuple(map(int, found[1].split("."))) for v in versions if (found := _GLIBC.match(v)))
    return max(numbers, default=())


def _name(version: tuple[int, ...]) -> str:
    return "GLIBC_" + ".".join(map(str, version))


def _users(subject: Subject, version: tuple[int, ...]) -> str:
    wanted = _name(version)
    return some(sorted(n for n, s in subject.file.undefined.items() if s.version == wanted), 4) or "no symbol"


@check(
    "runpath", "note", LIBRARY,
    means="its own dlopen calls, and what it needs, look there first: another libcuda than the program's may come",
    do="link without -rpath unless that is meant",
)  # fmt: skip
def runpath(subject: Subject) -> Answer:
    dynamic = subject.library.dynamic
    paths = [f"{tag} {path}" for tag in ("DT_RUNPATH", "DT_RPATH") for path in dynamic.texts(tag)]
    return some(paths) if paths else None


@check("constructors", "note", LIBRARY, means="run before main, in every program that it is preloaded into")
def constructors(subject: Subject) -> Answer:
    library = subject.library
    count = (library.dynamic.value("DT_INIT_ARRAYSZ") or 0) // _SIGNED_WORD[library.header.bits]
    names = sorted(library.constructors)
    if names:
        times = Counter(map(readable, names))  # static ones of several files
        return f"{len(names)}: {some([f'{name} x {count}' if count > 1 else name for name, count in times.items()])}"
    # one entry is the compiler's own (frame_dummy)
    return f"{counted(count - 1, 'function')} in .init_array" if count > 1 else None


@check(
    "static-tls", "note", LIBRARY,
    means="fine when preloaded; with dlopen it can fail: `cannot allocate memory in static TLS block`",
    do="compile with -ftls-model=global-dynamic",
)  # fmt: skip
def static_tls(subject: Subject) -> Answer:
    return "DF_STATIC_TLS (initial-exec)" if subject.library.dynamic.has_flag("DT_FLAGS", 0x10) else None


@check(
    "thread-local", "note", LIBRARY,
    means="with the global-dynamic model the first use in a thread can call malloc: mind hooks called from there",
)  # fmt: skip
def thread_local(subject: Subject) -> Answer:
    segment = next((segment for segment in subject.library.segments if segment.type == "PT_TLS"), None)
    if segment is None or not segment.memory_size or static_tls(subject):
        return None
    return f"{segment.memory_size} bytes of thread-local variables"


@check(
    "undefined-symbols", "warning", LIBRARY,
    means="nobody that it is linked to has them: `undefined symbol` at the first call, or right away with LD_BIND_NOW",
    do="link the library that has them; -Wl,-z,defs tells while linking",
)  # fmt: skip
def undefined_symbols(subject: Subject) -> Answer:
    library, found = subject.library, subject.libraries
    libc = subject.libc  # the program has it, also where the library names nothing
    if found.missing or libc is None:
        return None
    offered = {name for each in (*found.found.values(), libc) for name in each.exported}
    names = [name for name, symbol in library.undefined.items() if symbol.binding != "WEAK" and name not in offered]
    strange = sorted(n for n in names if not subject.table.function(n) and not n.startswith(("__real_", "_dl_")))
    return some(strange, say=readable) if strange else None


@check(
    "api-undefined", "note", LIBRARY,
    means="the program must have the vendor's library loaded by then, or the call ends with `undefined symbol`",
    do="get the real functions with dlsym when they are first called",
)  # fmt: skip
def api_undefined(subject: Subject) -> Answer:
    names = [name for name, s in subject.library.undefined.items() if subject.table.function(name)]
    linked = [api_of(name) for name in subject.library.needed]
    wanted = sorted(n for n in names if (f := subject.table.function(n)) and f.api not in linked)
    return f"calls {some(wanted)} by name, without being linked to {NAMES['driver']} or the like" if wanted else None
