"""Is it a file for this purpose at all: kind, machine, word size."""

from __future__ import annotations

import platform

from gdbcuda.api.vendor import NAMES, api_of
from gdbcuda.check.registry import ANY, LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject

_HOST = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64"}
_WRONG_KINDS = {
    "relocatable": "link the object files: gcc -shared -fPIC -g -O0 -o libhook.so *.o",
    "core": "check the program and the library that crashed, not what they left behind",
    "debug file": "check the library that this debug info belongs to; it is found from there",
    "unknown": "name a shared library or a program",
}


@check(
    "not-loadable", "error", ANY,
    means="nothing of this can be run or preloaded",
    verdict="neither a library nor a program",
    fatal=True,
)  # fmt: skip
def not_loadable(subject: Subject) -> Answer:
    kind = subject.file.kind
    return Answered(f"ELF type: {kind}", do=_WRONG_KINDS[kind]) if kind in _WRONG_KINDS else None


@check(
    "32-bit", "error", ANY,
    means="CUDA has no 32-bit libraries; a 64-bit program cannot load this, the loader says `wrong ELF class: "
          "ELFCLASS32` and goes on without it",
    do="compile with -m64",
    verdict="not for CUDA: 32-bit",
    fatal=True,
)  # fmt: skip
def too_narrow(subject: Subject) -> Answer:
    return f"ELF class 32, machine {subject.file.machine}" if subject.file.header.bits == 32 else None


@check(
    "big-endian", "error", ANY,
    means="no machine that CUDA runs on is big-endian",
    do="compile for the machine with the GPU",
    verdict="not for CUDA: big-endian",
    fatal=True,
)  # fmt: skip
def big_endian(subject: Subject) -> Answer:
    return None if subject.file.header.little_endian else f"byte order big-endian, machine {subject.file.machine}"


@check(
    "other-machine", "note", ANY,
    means="it cannot run here; on a machine of its kind, through gdbserver, everything works",
    do="gdb-multiarch debugs it from here",
)  # fmt: skip
def other_machine(subject: Subject) -> Answer:
    host = _HOST.get(platform.machine().lower(), platform.machine())
    if subject.file.machine == host or subject.file.header.bits == 32:
        return None
    return f"machine {subject.file.machine}, this one is {host}"


@check(
    "vendor-library", "note", LIBRARY,
    means="this is what gets hooked, not what hooks",
    do="check your own library",
    verdict="the vendor's library (or a stand-in for it), not a hook library",
)  # fmt: skip
def vendor_library(subject: Subject) -> Answer:
    name = subject.file.soname
    return f"soname {name}, {NAMES[api_of(name)]} itself" if api_of(name) else None
