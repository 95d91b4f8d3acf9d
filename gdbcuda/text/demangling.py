"""C++ names as their authors wrote them, by the C++ runtime that gdb itself uses.

gdb's Python offers no demangler, and gdb's ``demangle`` is a command, which no event may execute.
(Itanium C++ ABI, "Demangler API": __cxa_demangle.)
"""

from __future__ import annotations

import functools
from typing import Any

LIBRARY = "libstdc++.so.6"


@functools.lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """The name itself where it is none of C++'s, or there is no C++ runtime (a gdb that is linked statically)."""
    if not name.startswith("_Z") or runtime() is None:
        return name
    import ctypes  # loaded when first used

    symbol, at, version = name.partition("@")
    status = ctypes.c_int()
    text = runtime().__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if status.value or not text:
        return name
    found = ctypes.cast(text, ctypes.c_char_p).value or b""
    runtime().free(text)
    return found.decode(errors="replace") + at + version


@functools.cache
def runtime() -> Any:
    """The library with __cxa_demangle and free; None if gdb's Python cannot have it."""
    try:
        import ctypes

        library = ctypes.CDLL(LIBRARY)
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.free.argtypes = [ctypes.c_void_p]
    except (ImportError, OSError, AttributeError):
        return None
    return library
