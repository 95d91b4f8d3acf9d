"""Which API functions the library offers by name, which it keeps hidden, and what else it offers."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping

from gdbcuda import api
from gdbcuda.api.vendor import NAMES
from gdbcuda.check.registry import LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.other_ways import offers_names, other_ways
from gdbcuda.check.subjects.reached_hook import Routes
from gdbcuda.check.subjects.subject import Subject, important_first
from gdbcuda.text.cplusplus import shortened
from gdbcuda.text.demangling import demangled
from gdbcuda.text.sentences import counted, some

MOST_GUESSES = 4
LONGEST_NAME = 60  # columns of one in a list
_EXPORT = 'write __attribute__((visibility("default"))) before each function, keep -fvisibility=hidden for the rest'
_LOOKALIKE = re.compile(r"(cu|cuda|nvml)[A-Z]\w*$")


def by_api(functions: Mapping[str, api.Function]) -> dict[str, list[str]]:
    """API -> symbols, the important ones first."""
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    for symbol in important_first(functions):
        found[functions[symbol].api].append(symbol)
    return found


@check("hooks", "note", LIBRARY, means="these functions are reached by name")
def hooks(subject: Subject) -> Answer:
    if not subject.hooked:
        return None
    totals = Counter(function.api for function in map(subject.table.functions.get, subject.table.functions) if function)
    counts = [
        f"{len(symbols)} of {totals[name]} {name} functions ({_version(subject, name)})"
        for name, symbols in by_api(subject.hooked).items()
        if symbols
    ]
    return "exports " + some(counts) + ": " + some(subject.in_order, 4)


def _version(subject: Subject, name: str) -> str:
    return f"NVML {subject.table.nvml}" if name == "nvml" else f"CUDA {subject.table.cuda}"


@check(
    "versioned-runtime", "warning", LIBRARY,
    means="programs ask for the runtime's functions in the version of libcudart (cudaMalloc@libcudart.so.13); the "
          "loader passes by those of another version",
    do="give them none: in the version script an anonymous block, `{ global: cuda*; local: *; };`",
)  # fmt: skip
def versioned_runtime(subject: Subject) -> Answer:
    versions = {name: subject.library.exported[name].version for name in subject.in_order}
    foreign = [name for name, version in versions.items() if version and not version.startswith("libcudart.so.")
               and subject.hooked[name].api == "runtime"]  # fmt: skip
    if not foreign:
        return None
    seen = f"exports {some([f'{name}@@{versions[name]}' for name in foreign], 4)}"
    if len(foreign) < len(versions):
        return seen
    return Answered(seen, severity="error", verdict="will not be reached by programs that call the runtime by name")


@check(
    "hooks-nothing", "error", LIBRARY,
    means="no program is changed by it: it offers no API function and no dlsym",
    do="is it the right file? " + _EXPORT,
    verdict="hooks nothing",
)  # fmt: skip
def hooks_nothing(subject: Subject) -> Answer:
    if offers_names(subject) or other_ways(subject):
        return None
    others = [name for name in subject.library.exported if not name.startswith("_")]
    return f"{counted(len(subject.library.exported), 'exported symbol')}, none of the API" + (
        f": {some(others, 4)}" if others else ""
    )


@check(
    "hidden-functions", "warning", LIBRARY,
    means="programs that call them by name go past the hook; gdb sets breakpoints there that are never hit",
    do=_EXPORT,
)  # fmt: skip
def hidden_functions(subject: Subject) -> Answer:
    hidden = important_first(subject.hidden)
    if not hidden:
        return None
    seen = f"{counted(len(hidden), 'API function')} defined but not exported: {some(hidden)}"
    if subject.hooked:
        return seen
    return Answered(seen, _unlinked_advice(subject), "", _unlinked_severity(subject), _unlinked_verdict(subject))


@check(
    "cpp-names", "error", LIBRARY,
    means="C++ changed the names of these functions: nobody calls them",
    do='put extern "C" before them',
    verdict="will not be reached: C++ names",
)  # fmt: skip
def cpp_names(subject: Subject) -> Answer:
    names = {found[1]: n for n in subject.library.exported if (found := _mangled(n))}
    meant = sorted(name for name in names if name in subject.table.functions and name not in subject.hooked)
    return f"{some([f'{names[name]} for {name}' for name in meant], 4)}" if meant else None


def _mangled(symbol: str) -> re.Match[str] | None:
    """A function outside of classes and namespaces: _Z, the length of the name, the name, the parameters."""
    found = re.match(r"_Z(\d+)", symbol)
    return re.match(rf"_Z\d+(\w{{{min(int(found[1][:3]), 200)}}})", symbol) if found else None


@check(
    "only-dlsym", "error", LIBRARY,
    means="reached by programs that load the vendor's library and ask dlsym; a program that is linked straight against "
          "libcuda or libnvidia-ml goes past it, without a word",
    do=f"is it a release build, which hides and strips on purpose? debug the other one; else {_EXPORT}",
)  # fmt: skip
def only_dlsym(subject: Subject) -> Answer:
    exported = subject.library.exported
    if "dlsym" not in exported or subject.hooked or subject.hidden:
        return None
    unknown = "what it answers with is not told by its functions' names"
    unknown = unknown if subject.hidden_is_known else "stripped, so what it hides cannot be told"
    seen = f"exports dlsym and no API function ({counted(len(exported), 'exported symbol')}); {unknown}"
    return Answered(seen, _unlinked_advice(subject), "", _unlinked_severity(subject), _unlinked_verdict(subject))


def _unlinked_advice(subject: Subject) -> str:
    return f"nothing, for {_program(subject)}; for linked programs {_EXPORT}" if _is_asked(subject) else ""


def _unlinked_verdict(subject: Subject) -> str:
    others = "by linked programs"
    return f"will{f' be reached by {_program(subject)}, not' if _is_asked(subject) else ' not be reached'} {others}"


def _program(subject: Subject) -> str:
    return os.path.basename(subject.program.path)


def _unlinked_severity(subject: Subject) -> str:
    return "warning" if _is_asked(subject) else "error"


def _is_asked(subject: Subject) -> bool:
    """There is a program to be run with it, and that asks a resolver instead of calling the vendor's by name."""
    if not subject.has_program or not Routes(subject).described():
        return False
    return all(function.api == "runtime" for function in subject.uses.called.values())


@check(
    "looks-like-api", "note", LIBRARY,
    means="not counted: the API's headers declare no function of that name, so no program calls it as one of the API",
)  # fmt: skip
def lookalikes(subject: Subject) -> Answer:
    names = sorted(_unknown(subject) - _of_other_headers(subject).keys())
    if not names:
        return None
    guesses = {name: subject.table.nearest(name, 1) for name in names[:MOST_GUESSES]}
    near = [f"{name} -> {guess[0]}?" for name, guess in guesses.items() if guess and is_mistyped(name, guess[0])]
    return Answered(some(names), do=f"if a typing mistake: {some(near)}" if near else "")


def _unknown(subject: Subject) -> set[str]:
    return {n for n in subject.library.exported if _LOOKALIKE.match(n) and not subject.table.function(n)}


def is_mistyped(name: str, meant: str) -> bool:
    """One letter or two are wrong: more is a function of the library's own."""
    from difflib import SequenceMatcher  # slow to import

    return SequenceMatcher(None, name, meant).ratio() >= 1 - 2 / max(len(name), 4)


def _of_other_headers(subject: Subject) -> dict[str, str]:
    """Names that headers of another version have, with what tells of them: "nvmlX (now nvmlY)", "cuX (CUDA 11.8)"."""
    found: dict[str, str] = {}
    left = _unknown(subject)
    for name in left:
        renamed = subject.table.source_symbol(name)
        if renamed != name:
            found[name] = f"{name} (now {renamed})"
    tables = [(f"CUDA {cuda}", api.load(cuda=cuda)) for cuda in api.CUDA_VERSIONS if left]
    tables += [(f"NVML {nvml}", api.load(nvml=nvml)) for nvml in api.NVML_VERSIONS if left]
    for version, table in tables:
        for name in left:
            if table.function(name):
                found.setdefault(name, f"{name} ({version})")
    return found


@check(
    "other-headers", "note", LIBRARY,
    means="functions of the API, but not of the version that is compared with: programs compiled with those headers "
          "call them, and drivers keep them for those",
    do="see them as hooked: --cuda VERSION",
)  # fmt: skip
def other_headers(subject: Subject) -> Answer:
    found = _of_other_headers(subject)
    return some([found[name] for name in sorted(found)]) if found else None


@check(
    "collides-with-libc", "warning", LIBRARY,
    means="every library of the program now calls these instead of those of the C library",
    do="make them static, or compile with -fvisibility=hidden",
)  # fmt: skip
def collisions(subject: Subject) -> Answer:
    libc = subject.libc
    meant = {"dlsym", "dlvsym", "dlopen", "dlmopen", "dlclose", "dladdr"}
    if libc is None or subject.library.soname.startswith("libc."):
        return None
    shared = [name for name, s in subject.library.exported.items() if name in libc.exported and s.is_function]
    names = sorted(set(shared) - meant - {"_init", "_fini"})
    return f"exports {some(names)}" if names else None


@check(
    "other-exports", "note", LIBRARY,
    means="in a preloaded library each of them replaces a function of that name in the program's other libraries",
    do="compile with -fvisibility=hidden, and export the hooks only",
)  # fmt: skip
def other_exports(subject: Subject) -> Answer:
    exported = subject.library.exported
    if not subject.hooked and "dlsym" not in exported:
        return None
    api_like = set(subject.hooked) | {"dlsym", "dlvsym", "dlopen", "_init", "_fini"}
    own = (name for name, symbol in exported.items() if not symbol.is_version and not name.startswith("__"))
    names = sorted(name for name in own if name not in api_like and not subject.table.function(name))
    if not names:
        return None
    shown = some(names, say=lambda name: shortened(demangled(name), LONGEST_NAME))
    return f"besides API functions {counted(len(names), 'exported symbol')}: {shown}"
