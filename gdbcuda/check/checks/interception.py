"""The other ways to a function than its name: dlsym and cuGetProcAddress."""

from __future__ import annotations

from gdbcuda import elf
from gdbcuda.api.vendor import api_of
from gdbcuda.check.registry import LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.other_ways import BY_HANDLE, offers_names, other_ways
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.check.subjects.way_back import Search
from gdbcuda.text.sentences import some

_PRIVATE = ("_dl_sym", "_dl_vsym", "__libc_dlsym", "__libc_dlopen_mode", "_dl_open")
# Any of these can lead to the C library's dlsym without asking the own one.
_WAYS_TO_DLSYM = (*_PRIVATE, "dlvsym", "dl_iterate_phdr", "dlinfo", "_r_debug", "dlmopen")
_RESOLVERS = {  # and who asks for it
    "cuGetProcAddress": "a runtime of CUDA 11.3 to 11.8",
    "cuGetProcAddress_v2": "a runtime since CUDA 12.0",
}
_DLVSYM = 'dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"), then with "GLIBC_2.2.5" (aarch64: "GLIBC_2.17")'


def _hooks_loaded_apis(subject: Subject) -> list[str]:
    """The APIs it hooks whose libraries programs load by themselves."""
    functions = [*subject.hooked.values(), *subject.hidden.values()]
    return sorted({function.api for function in functions} & {"driver", "nvml"})


@check(
    "dlsym-overridden",
    "note",
    LIBRARY,
    means="programs that load libcuda or libnvidia-ml themselves ask it first",
)
def dlsym_overridden(subject: Subject) -> Answer:
    exported = subject.library.exported
    if "dlsym" not in exported:
        return None
    every = [symbol for symbol in subject.library.dynamic_symbols.defined() if symbol.exported]
    shown = [f"{_versioned(symbol)} at {symbol.value:#x}"
             for name in ("dlsym", "dlvsym") for symbol in every if symbol.name == name]  # fmt: skip
    other = "" if "dlvsym" in exported else "; dlvsym is not: who asks it goes past"
    return f"overrides {some(shown)}{other}"


def _versioned(symbol: elf.Symbol) -> str:
    """As nm -D writes it: name@@VERSION is what new references find, name@VERSION only what was linked to that."""
    at = "@@" if symbol.default else "@"
    return f"{symbol.name}{at}{symbol.version}" if symbol.version else f"{symbol.name} (no version)"


@check(
    "dlsym-not-overridden", "warning", LIBRARY,
    means="a program that loads the vendor's library by itself and asks dlsym goes past; the CUDA runtime, static or "
          "shared, and nvidia-smi do",
    do="define dlsym, answer the hooked names, pass on the rest; the real one: " + _DLVSYM,
)  # fmt: skip
def dlsym_not_overridden(subject: Subject) -> Answer:
    apis = _hooks_loaded_apis(subject)
    if "dlsym" in subject.library.exported or not apis or api_of(subject.library.soname):
        return None
    hidden = " (there is a hidden one)" if "dlsym" in subject.defined else ""
    seen = f"hooks {' and '.join(apis)} functions and exports no dlsym{hidden}"
    if "dlopen" in subject.library.exported:
        return Answered(f"{seen}, and a dlopen", BY_HANDLE.do, BY_HANDLE.means, "note")
    return seen


@check(
    "proc-address-not-hooked", "warning", LIBRARY,
    means="since CUDA 11.3 the runtime asks the driver's cuGetProcAddress (12.0: _v2) for every function: one that "
          "asks what is missing gets the driver's, not yours",
    do="define cuGetProcAddress and cuGetProcAddress_v2, and hand them out in dlsym; answer by version and flags",
)  # fmt: skip
def proc_address_not_hooked(subject: Subject) -> Answer:
    functions = [*subject.hooked.values(), *subject.hidden.values()]
    missing = [name for name in _RESOLVERS if name not in subject.defined]
    if not missing or not any(function.api == "driver" for function in functions):
        return None
    if "dlsym" not in subject.library.exported or api_of(subject.library.soname):
        return None  # without a dlsym of its own it is not asked anyway
    whose = f", which {_RESOLVERS[missing[0]]} asks" if len(missing) == 1 else ""
    return f"overrides dlsym and hooks driver functions, but not {some(missing)}{whose}"


@check(
    "proc-address-hooked", "note", LIBRARY,
    means="it must answer by the version and the flags that it is asked with: cuMemAdvise at 8000 is not "
          "cuMemAdvise_v2, and flag 2 wants the _ptsz variant",
    do="compare with the driver's answers",
)  # fmt: skip
def proc_address_hooked(subject: Subject) -> Answer:
    found = [name for name in _RESOLVERS if name in subject.defined]
    return f"defines {some(found)}" if found else None


@check(
    "dlsym-recursion", "error", LIBRARY,
    means="dlsym finds itself: the first call of the program never comes back (SIGSEGV, a stack full of dlsym)",
    do="get the real one with " + _DLVSYM,
    verdict="crashes at the first dlsym",
    fatal=True,
)  # fmt: skip
def dlsym_recursion(subject: Subject) -> Answer:
    library = subject.library
    own = library.exported.get("dlsym")
    if own is None or any(name in library.undefined for name in _WAYS_TO_DLSYM):
        return None
    called = library.code.called(own.value, own.size, {own.value: "dlsym"})
    if "dlsym" in called:
        return f"dlsym at {own.value:#x} calls dlsym, and nothing else that could find the real one"
    return Answered(
        f"dlsym at {own.value:#x}; no dlvsym or the like is imported to find the real one",
        means="it can hand out its own functions only, or finds itself",
        severity="warning",
    )


@check(
    "dlsym-cycle", "warning", LIBRARY,
    means="that dlsym is this library's again: where nothing ends it, the first request never comes back (SIGSEGV, a "
          "stack full of dlsym)",
    do="get real functions there with dlvsym, or let a flag of the thread end the second turn",
)  # fmt: skip
def dlsym_cycle(subject: Subject) -> Answer:
    if "dlsym" not in subject.library.exported:
        return None
    way = Search(subject.library, list(subject.libraries.found.values())).way_back()
    return f"{way[0]} calls {', which calls '.join([*way[1:], 'dlsym'])}" if way else None


_CALLER_STAYS = "the loader sees who has called: the RUNPATH of the program and its libraries is searched as without it"


@check(
    "dlopen-overridden", "warning", LIBRARY,
    means="the loader then takes this library for the caller: what a program or library finds by its own RUNPATH or "
          "$ORIGIN is not found, or another one of that name is",
    do="define no dlopen; where it must be, end it with a jump to the real one (return real(name, flags); at -O2), "
       "which leaves the caller's return address; cuda-dlsym log shows what is not searched",
)  # fmt: skip
def dlopen_overridden(subject: Subject) -> Answer:
    exported = subject.library.exported
    found = [exported[name] for name in ("dlopen", "dlmopen") if name in exported]
    called = [one for one in found if not subject.library.code.only_jumps_on(one.value, one.size)]
    seen = f"exports {some([f'{one.name} at {one.value:#x}' for one in called or found])}"
    if called or not found:
        return seen if found else None
    return Answered(f"{seen}; ends with a jump to the real one", "nothing", _CALLER_STAYS, "note")


@check(
    "glibc-private", "error", LIBRARY,
    means="private to the C library and gone since glibc 2.34: `symbol lookup error: undefined symbol`, the program "
          "ends",
    do="get the real dlsym with " + _DLVSYM,
    verdict="will not run: uses what is private to glibc",
    fatal=True,
)  # fmt: skip
def glibc_private(subject: Subject) -> Answer:
    undefined = subject.library.undefined
    private = sorted(name for name, s in undefined.items() if s.version == "GLIBC_PRIVATE" or name in _PRIVATE)
    return f"undefined symbols: {some(private)}" if private else None


@check("other-way", "warning", LIBRARY, means="it hooks in another way than by name")
def other_way(subject: Subject) -> Answer:
    found = other_ways(subject)
    if not found:
        return None
    verdict = "" if offers_names(subject) else "unknown whether calls arrive"
    seen, means, do = ("; ".join(column) for column in zip(*found))
    return Answered(seen, do, means, verdict=verdict)


@check(
    "wrap-build", "note", LIBRARY,
    means="ld --wrap changes calls inside of this library only; other objects' calls are not wrapped",
)  # fmt: skip
def wrap_build(subject: Subject) -> Answer:
    names = sorted(n for n in {*subject.defined, *subject.library.exported} if n.startswith("__wrap_"))
    return f"defines {some(names)}" if names else None


@check(
    "real-undefined", "error", LIBRARY,
    means="a __real_ function exists only while linking with --wrap; at run time nobody has it",
    do="link with -Wl,--wrap=NAME for each of them",
    verdict="will not run: __real_ symbols are undefined",
    fatal=True,
)  # fmt: skip
def real_undefined(subject: Subject) -> Answer:
    names = sorted(name for name in subject.library.undefined if name.startswith("__real_"))
    return f"undefined symbols: {some(names)}" if names else None


@check(
    "symbolic", "warning", LIBRARY,
    means="calls inside the library stay inside: its own dlsym calls its own dlsym, a second hook library is never "
          "asked",
    do="link without -Bsymbolic and -Bsymbolic-functions",
)  # fmt: skip
def symbolic(subject: Subject) -> Answer:
    dynamic = subject.library.dynamic
    bound = dynamic.value("DT_SYMBOLIC") is not None or dynamic.has_flag("DT_FLAGS", 2)
    return "DT_SYMBOLIC (-Bsymbolic)" if bound else None
