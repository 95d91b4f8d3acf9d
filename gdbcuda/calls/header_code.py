"""Code that CUDA's headers put between a program and the API: cudaMalloc<float>, and what nvcc makes of <<<...>>>.

It has asked for nothing; its caller has. (cuda_runtime.h: "template<class T> ... cudaMalloc(T **devPtr, size_t size)".)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gdbcuda import api
from gdbcuda.text import cplusplus

HEADERS = frozenset(("cuda_runtime.h", "cuda_runtime_api.h", "host_runtime.h"))
STUB, STUB_FILE = "__device_stub__", ".cudafe1.stub.c"


@lru_cache(maxsize=4096)
def is_header_code(layer: str, function: str, source: str) -> bool:
    """``function`` as gdb or a log has it; ``source`` is "cuda_runtime.h:879" or "". A template of the program, or
    an overload, that is called as a function of the API is the header's."""
    if layer != "app":
        return False
    file = source.rpartition(":")[0].rpartition("/")[2]
    if file in HEADERS or file.endswith(STUB_FILE) or function.startswith(STUB):
        return True
    is_cplusplus = "<" in function or "(" in function
    return is_cplusplus and api.load().function(cplusplus.plain(function)) is not None


def is_place_in_headers(place: Mapping[str, Any]) -> bool:
    """Of a log."""
    return is_header_code(*(place.get(name) or "" for name in ("layer", "function", "source")))
