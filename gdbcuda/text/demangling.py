"""C++ names as their authors wrote them, by the C++ runtime that gdb itself uses.

gdb's Python offers no demangler, and gdb's ``demangle`` is a command, which no event may execute.
(Itanium C++ ABI, "Demangler API": __cxa_demangle.)
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from gdbcuda.text.cplusplus import whole
from gdbcuda.text.patterns import pattern

CUT = "…"  # at the end of a text of which the recorder has kept the first bytes
UNNAMED = pattern(r"_GLOBAL__N_\w*")
LIBRARY = "libstdc++.so.6"
HASH = pattern(r"::h[0-9a-f]{16}$")
HASHED = pattern(r"17h[0-9a-f]{16}E")
ESCAPES = {"LT": "<", "GT": ">", "RF": "&", "BP": "*", "C": ",", "LP": "(", "RP": ")", "SP": "@"}
ESCAPED = pattern(rf"\$({'|'.join(ESCAPES)}|u([0-9a-f]{{1,5}}))\$")


@functools.lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """The name itself where it is none of C++'s, or there is no C++ runtime (a gdb that is linked statically)."""
    cplusplus = runtime() if name.startswith("_Z") else None
    if cplusplus is None:
        return of_rust(name)
    import ctypes  # loaded when first used

    symbol, at, version = name.partition("@")
    status = ctypes.c_int()
    text = cplusplus.demangle(symbol.encode(), None, None, ctypes.byref(status))
    if status.value or not text:
        return begun(name)
    found = ctypes.cast(text, ctypes.c_char_p).value or b""
    cplusplus.free(text)
    return of_rust(found.decode(errors="replace")) + at + version


def is_of_module(symbol: str) -> bool:
    """As the linker has it, in either of Rust's manglings, or a procedure of a Fortran module: __pool_MOD_grow."""
    if symbol.startswith("__") and "_MOD_" in symbol:
        return True
    return symbol.startswith("_R") or (symbol.startswith("_ZN") and HASHED.search(symbol) is not None)


def of_rust(name: str) -> str:
    """ "r::Pool$LT$u64$GT$::grow::h6a5a2de803992af2" -> "r::Pool<u64>::grow", as the debug info has it: Rust's names
    are C++'s, with a hash at the end. (rustc_symbol_mangling: legacy.rs.)"""
    if not HASH.search(name):
        return name
    text = re.sub(r"(^|::)_\$", r"\1$", HASH.sub("", name).replace("..", "::"))
    return ESCAPED.sub(lambda found: ESCAPES.get(found[1]) or chr(int(found[2], 16)), text)


def readable(name: str) -> str:
    """A C++ name without what it returns; every other as it is: a path may have blanks and brackets."""
    return whole(demangled(name)) if name.startswith("_Z") else name


def begun(name: str) -> str:
    """What is known of one that is cut off: "at::native::elementwise_kernel<...>"; the name itself where nothing is.
    (Itanium C++ ABI, "Mangling": nested-name, source-name.)"""
    rest = re.match(r"_ZN?K?(?=\d)", name) if name.endswith(CUT) else None
    parts, at = list[str](), rest.end() if rest else 0
    while rest and (count := re.compile(r"\d+").match(name, at)):
        at = count.end() + int(count[0])
        parts.append(UNNAMED.sub("(anonymous namespace)", name[count.end() : at]))
    if not parts or at >= len(name):
        return name
    return "::".join(parts) + ("<...>" if name[at] == "I" else "")


class Runtime(NamedTuple):
    """Of C++: ``free`` is that of whose malloc it uses. Where a process has brought one of its own (jemalloc in
    LD_PRELOAD, a sanitizer) that is not libc's, which the library itself is linked with."""

    demangle: Any
    free: Any


@functools.cache
def runtime() -> Runtime | None:
    """None if gdb's Python cannot have it."""
    try:
        import ctypes

        found = Runtime(ctypes.CDLL(LIBRARY).__cxa_demangle, ctypes.CDLL(None).free)
    except (ImportError, OSError, AttributeError):
        return None
    found.demangle.restype = ctypes.c_void_p
    found.free.argtypes = [ctypes.c_void_p]
    return found
