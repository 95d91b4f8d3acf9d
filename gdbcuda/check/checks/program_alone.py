"""The program alone: can anything be preloaded into it, and how does it come to CUDA."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gdbcuda.api.vendor import NAMES
from gdbcuda.check.registry import PROGRAM, Answer, check
from gdbcuda.check.subjects.runtime_inside import WRAPPER
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.text.sentences import counted, some


@check(
    "static-program", "error", PROGRAM,
    means="there is no loader in it: LD_PRELOAD is ignored",
    do="link it without -static",
    verdict="cannot be hooked: a static program",
    fatal=True,
)  # fmt: skip
def static_program(subject: Subject) -> Answer:
    return None if subject.program.interpreter else "no PT_INTERP"


def _mode(subject: Subject) -> int:
    try:
        return os.stat(subject.program.path).st_mode
    except OSError:
        return 0


@check(
    "setuid", "error", PROGRAM,
    means="the loader ignores LD_PRELOAD with a path in it (unless you are that user already)",
    do="debug a copy: `cp PROGRAM /tmp/` leaves the bit behind",
    verdict="cannot be hooked: setuid",
    fatal=True,
)  # fmt: skip
def setuid(subject: Subject) -> Answer:
    bits = [name for bit, name in ((stat.S_ISUID, "setuid"), (stat.S_ISGID, "setgid")) if _mode(subject) & bit]
    return f"mode {stat.filemode(_mode(subject))}: {some(bits)}" if bits else None


@check(
    "file-capabilities", "error", PROGRAM,
    means="the loader treats it like a setuid program and ignores LD_PRELOAD with a path in it",
    do="debug a copy (`cp` leaves them behind), or: setcap -r PROGRAM",
    verdict="cannot be hooked: it has file capabilities",
    fatal=True,
)  # fmt: skip
def file_capabilities(subject: Subject) -> Answer:
    try:
        value = os.getxattr(subject.program.path, "security.capability")
    except (OSError, ValueError):
        return None
    return f"extended attribute security.capability of {len(value)} bytes"


@check(
    "cuda-runtime",
    "note",
    PROGRAM,
    means="its calls of the runtime go by name, those of the driver from there",
)
def cuda_runtime(subject: Subject) -> Answer:
    uses = subject.uses
    return f"shared: {uses.linked['runtime']}" if "runtime" in uses.linked else None


@check(
    "static-runtime", "note", PROGRAM,
    means="cudaMalloc and the like are inside of the program: a hook library cannot replace them, only the driver "
          "functions that they end in",
    do="to hook the runtime too: nvcc --cudart shared",
)  # fmt: skip
def static_runtime(subject: Subject) -> Answer:
    uses = subject.uses
    if "runtime" in uses.linked or not uses.static_runtime:
        return None
    return "the CUDA runtime is linked in" + (f", CUDA {uses.runtime_version}" if uses.runtime_version else "")


@check("cuda-linked", "note", PROGRAM, means="it calls these by name: a hook library must export them")
def cuda_linked(subject: Subject) -> Answer:
    uses = subject.uses
    linked = [name for api, name in sorted(uses.linked.items()) if api != "runtime"]
    return f"linked to {some(linked)}, calls {counted(len(uses.called), 'API function')} by name" if linked else None


@check(
    "wrapped", "note", PROGRAM,
    means="its own calls of these go to its __wrap_ functions: a hook library sees what they pass on; calls of its "
          "libraries are not wrapped",
)  # fmt: skip
def wrapped(subject: Subject) -> Answer:
    names = sorted(name for name in _wrapped_names(subject) if name in subject.table.functions)
    return f"linked with --wrap for {some(names)}" if names else None


@check(
    "wrap-unknown", "note", PROGRAM,
    means="where it is, its own calls go to functions of its own first, and their names are gone",
)  # fmt: skip
def wrap_unknown(subject: Subject) -> Answer:
    if subject.program_functions is not None or not _has_calls_to_wrap(subject) or any(_wrapped_names(subject)):
        return None
    return "stripped: whether it is linked with --wrap is unknown"


def _wrapped_names(subject: Subject) -> Iterator[str]:
    names = {*(subject.program_functions or ()), *subject.program.exported}
    return (name[len(WRAPPER) :] for name in names if name.startswith(WRAPPER))


def _has_calls_to_wrap(subject: Subject) -> bool:
    by_name = any(name in subject.table.functions for name in subject.program.undefined)
    return by_name or subject.uses.static_runtime


@check(
    "cuda-loaded",
    "note",
    PROGRAM,
    means="it gets these with dlopen and dlsym: a hook library must answer dlsym",
)
def cuda_loaded(subject: Subject) -> Answer:
    loads = subject.uses.loads
    return f"loads {some([NAMES[api] for api in loads])} by itself" if loads else None


@check(
    "no-cuda", "warning", PROGRAM,
    means="nothing in it names CUDA or NVML: an interpreter or plug-in host may load them later, another program may "
          "be the one to check",
    do="check the program or library that loads CUDA; what is loaded later asks dlsym, so the hook must answer it",
)  # fmt: skip
def no_cuda(subject: Subject) -> Answer:
    if subject.uses.any or not subject.program.interpreter:
        return None
    return f"neither it nor its {len(subject.uses.libraries.found)} libraries use CUDA"


@check("fixed-address", "note", PROGRAM, means="no PIE: its own addresses are the same in every run")
def fixed_address(subject: Subject) -> Answer:
    return "ELF type EXEC" if subject.program.kind == "executable" else None
