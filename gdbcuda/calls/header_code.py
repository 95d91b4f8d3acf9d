"""Code that CUDA's headers put between a program and the API: cudaMalloc<float>, and what nvcc makes of <<<...>>>.

It has asked for nothing; its caller has. (cuda_runtime.h: "template<class T> ... cudaMalloc(T **devPtr, size_t size)".)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from gdbcuda import api
from gdbcuda.text import cplusplus

HEADERS = frozenset(("cuda_runtime.h", "cuda_runtime_api.h", "host_runtime.h"))
STUB, STUB_FILE = "__device_stub_", ".cudafe1.stub.c"  # __device_stub__Z4axpyif, __wrapper__device_stub_axpy<float>
LAUNCHING = "__cudaLaunchKernel_helper"  # of crt/device_functions.h
T = TypeVar("T")


@lru_cache(maxsize=4096)
def is_header_code(layer: str, function: str, source: str) -> bool:
    """``function`` as gdb or a log has it; ``source`` is "cuda_runtime.h:879" or "". A template of the program, or
    an overload, that is called as a function of the API is the header's."""
    if layer != "app":
        return False
    file = source.rpartition(":")[0].rpartition("/")[2]
    if file in HEADERS or file.endswith(STUB_FILE) or is_stub(function) or function.startswith(LAUNCHING):
        return True
    is_cplusplus = "<" in function or "(" in function
    return is_cplusplus and api.load().function(cplusplus.plain(function)) is not None


def is_stub(function: str) -> bool:
    return STUB in function


def asker(places: Iterable[T], known: Callable[[T], tuple[str, str, str]]) -> T | None:
    """Of the frames above a call, outwards, who asked; ``known`` of each are layer, function and source. What calls a
    stub is the function that the program has in the place of the kernel, and its caller has launched that."""
    was_stub = False
    for place in places:
        layer, function, source = known(place)
        if not is_header_code(layer, function, source):
            if not was_stub:
                return place
            was_stub = False
        else:
            was_stub = is_stub(function)
    return None


def words_of(place: Mapping[str, Any]) -> tuple[str, str, str]:
    """Of a log."""
    return place.get("layer") or "", place.get("function") or "", place.get("source") or ""


def is_place_in_headers(place: Mapping[str, Any]) -> bool:
    return is_header_code(*words_of(place))
