"""What else the linker did: stack, text relocations, RELRO."""

from __future__ import annotations

from gdbcuda.check.registry import ANY, LIBRARY, Answer, check
from gdbcuda.check.subjects.subject import Subject

_EXECUTE, _NOW = 1, 8
_DF_1_NOW, _DF_TEXTREL = 1, 4


@check(
    "exec-stack", "warning", ANY,
    means="preloading it makes the stack of the whole program executable; a hardened kernel refuses, and glibc 2.41 "
          "refuses to dlopen it",
    do="link with -Wl,-z,noexecstack; in assembly files: .section .note.GNU-stack,\"\",@progbits",
)  # fmt: skip
def executable_stack(subject: Subject) -> Answer:
    stack = next((segment for segment in subject.file.segments if segment.type == "PT_GNU_STACK"), None)
    if stack is None:
        return "no PT_GNU_STACK: the stack is executable" if subject.file.segments else None
    return "PT_GNU_STACK with execute permission" if stack.flags & _EXECUTE else None


@check(
    "text-relocations", "warning", ANY,
    means="its code is changed while loading, hence not shared; hardened systems refuse to load it",
    do="compile every object with -fPIC",
)  # fmt: skip
def text_relocations(subject: Subject) -> Answer:
    dynamic = subject.file.dynamic
    found = dynamic.value("DT_TEXTREL") is not None or dynamic.has_flag("DT_FLAGS", _DF_TEXTREL)
    return "DT_TEXTREL" if found else None


@check(
    "no-relro", "note", LIBRARY,
    means="the table of function addresses stays writable: a stray write of the program can redirect a call",
    do="link with -Wl,-z,relro (and -Wl,-z,now for all of it)",
)  # fmt: skip
def no_relro(subject: Subject) -> Answer:
    relro = any(segment.type == "PT_GNU_RELRO" for segment in subject.library.segments)
    return None if relro else "no PT_GNU_RELRO"


@check(
    "bind-now", "note", LIBRARY,
    means="every symbol is looked up while loading: one that is undefined stops the program before main",
)  # fmt: skip
def bind_now(subject: Subject) -> Answer:
    dynamic = subject.library.dynamic
    now = dynamic.has_flag("DT_FLAGS", _NOW) or dynamic.has_flag("DT_FLAGS_1", _DF_1_NOW)
    return "linked with -z now" if now else None
