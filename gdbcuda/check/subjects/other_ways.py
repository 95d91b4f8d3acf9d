"""Ways into a library that no symbol of the API tells: whether a call arrives by one of them only a process shows."""

from __future__ import annotations

import re
from typing import NamedTuple

from gdbcuda.api.vendor import api_of
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.text.sentences import some

_NAMED_AFTER = re.compile(r"_((?:cu|cuda|nvml)[A-Z]\w*)$")
WRITES_CODE = ("mprotect", "pkey_mprotect")  # nobody rewrites slots or entries without one of them


class OtherWay(NamedTuple):
    seen: str
    means: str
    do: str


AUDIT = OtherWay(
    "exports la_version: an audit library",
    "ld.so asks it at each binding, where LD_AUDIT names it; which functions it then hands out is not known",
    "set it in LD_AUDIT, not in LD_PRELOAD",
)
INJECTION = OtherWay(
    "exports InitializeInjection: an injection library",
    "the driver loads it at cuInit, where CUDA_INJECTION64_PATH names it; which calls CUPTI tells it of is not known",
    "set it in CUDA_INJECTION64_PATH, not in LD_PRELOAD",
)
BY_HANDLE = OtherWay(
    "exports dlopen",
    "a dlopen that answers with a library of its own, as cricket's does, makes dlsym find what that exports; one that "
    "passes the request on lets it go past",
    "ask the process: cuda-dlsym log on, before the run",
)
PATCHER = OtherWay(
    "makes memory writable (mprotect), and offers no API function by name",
    "it may rewrite slots of the program, or overwrite the driver's entries; which ones is not known",
    "ask the process: cuda-route, at main or later",
)


def other_ways(subject: Subject) -> list[OtherWay]:
    exported, undefined = subject.library.exported, subject.library.undefined
    patches = not offers_names(subject) and any(name in undefined for name in WRITES_CODE)
    found = {AUDIT: "la_version" in exported, INJECTION: "InitializeInjection" in exported, PATCHER: patches}
    replacements = [] if offers_names(subject) else named_after_functions(subject)
    return [*(way for way, is_there in found.items() if is_there), *_replacing(replacements)]


def named_after_functions(subject: Subject) -> list[str]:
    """ "ucm_cuMemAlloc_v2", "my_cudaMalloc": functions of the library that are called after one of the API."""
    found = {name: _NAMED_AFTER.search(name) for name in (*subject.library.exported, *subject.library.hidden_functions)}
    return sorted(name for name, match in found.items() if match and match[1] in subject.table.functions)


def _replacing(names: list[str]) -> list[OtherWay]:
    return [OtherWay(
        f"no API function by name, but {some(names, 4)}",
        "it may hand them out, or another library may put them into slots or entries; which of them is not known",
        PATCHER.do,
    )] if names else []  # fmt: skip



def offers_names(subject: Subject) -> bool:
    library = subject.library
    return bool(subject.hooked or subject.hidden or "dlsym" in library.exported or api_of(library.soname))
