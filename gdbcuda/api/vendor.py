"""Which file is which part of CUDA, or of the system, by name."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from gdbcuda.text.patterns import pattern

# auditwheel puts eight digits of the file's hash behind the name of a library that it copies into a wheel.
_LIBRARIES = {
    "driver": pattern(r"libcuda(-[0-9a-f]{8})?\.so"),
    "nvml": pattern(r"libnvidia-ml(-[0-9a-f]{8})?\.so"),
    "runtime": pattern(r"libcudart(-[0-9a-f]{8})?\.so"),
}
_LOADER = pattern(r"ld[-.]|ld64")
_VDSO = pattern(r"linux-(vdso|gate)\.so|system-supplied DSO")  # the kernel's; the last is gdb's name
_SANITIZERS = ("asan", "tsan", "ubsan", "lsan", "hwasan")
_SANITIZER = pattern(rf"lib({'|'.join(_SANITIZERS)}|clang_rt\.\w*san[\w.-]*)\.so")
_LEAKS = pattern(r"lib(?:clang_rt\.)?([al]san)\b")  # clang's: libclang_rt.asan-x86_64.so
# What programs compute with: it makes calls of its own for what it was asked.
_COMPUTE = pattern(r"lib(cublas\w*|cudnn\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|cutensor\w*|nccl|npp\w+|nvrtc|"
                      r"nvJitLink|nvjpeg|nvinfer\w*|cufile|nvshmem\w*)(-[0-9a-f]{8})?\.so")  # fmt: skip
_SYSTEM = ("c", "m", "dl", "rt", "pthread", "gcc_s", "stdc++", "util", "resolv", "anl")
_LAYERS = (
    ("runtime", pattern(r"libcudart(-[0-9a-f]{8})?\.")),
    ("driver", pattern(r"lib(cuda|nvidia-[\w-]+|nvcuvid|nvoptix|cudadebugger)(-[0-9a-f]{8})?\.so")),
    ("system", _LOADER),
    ("system", _VDSO),
    ("system", pattern(rf"lib({'|'.join(map(re.escape, _SYSTEM))}|nss_\w+)(-[0-9a-f]{{8}})?(\.|-\d)")),
    ("system", pattern(r"libgdbcuda(-trace|-gpu)?\.so")),  # ours, for guards and for what is recorded
    ("system", _SANITIZER),
)
# What comes with the machine or a compiler, as far as C can tell by the first letters: none of it makes a sandbox.
OF_MACHINE = ("ld", "ld64", "linux-vdso", *(f"lib{one}" for one in (*_SYSTEM, *_SANITIZERS, "nss", "gomp", "itm")),
              "libgdbcuda", "libcuda", "libnvidia")  # fmt: skip
# The words that people know them by.
NAMES = {"driver": "libcuda", "nvml": "libnvidia-ml", "runtime": "libcudart"}
FILES = {"driver": b"libcuda.so", "nvml": b"libnvidia-ml.so", "runtime": b"libcudart.so"}


@lru_cache(maxsize=4096)
def api_of(library: str) -> str:
    """ "driver", "nvml" or "runtime" for a vendor's library, by soname or path; "" for any other."""
    name = os.path.basename(library)
    return next((api for api, pattern in _LIBRARIES.items() if pattern.match(name)), "")


def major_version(library: str) -> str:
    """ "13" of libcudart.so.13; "" where the name has none."""
    found = re.search(r"\.so\.(\d+)", library)
    return found[1] if found else ""


@lru_cache(maxsize=4096)
def layer_of(library: str) -> str:
    """ "runtime", "driver" or "system" for a library of the vendor or of the system; "" for any other."""
    name = os.path.basename(library)
    return next((layer for layer, pattern in _LAYERS if pattern.match(name)), "")


@lru_cache(maxsize=4096)
def is_compute_library(library: str) -> bool:
    """cuBLAS, cuDNN and the like."""
    return bool(_COMPUTE.match(os.path.basename(library)))


@lru_cache(maxsize=4096)
def is_loader(library: str) -> bool:
    """ld.so, by its file name."""
    return bool(_LOADER.match(os.path.basename(library)))


def is_sanitizer(library: str) -> bool:
    """The runtime that gcc's or clang's -fsanitize links."""
    return bool(_SANITIZER.match(os.path.basename(library)))


def leak_options(library: str) -> str:
    """The variable that tells a sanitizer's runtime whether to look for leaks; "" where it does not."""
    found = _LEAKS.match(os.path.basename(library))
    return f"{found[1].upper()}_OPTIONS" if found else ""


def is_vdso(library: str) -> bool:
    """By its name alone: it is no file, and in no folder."""
    return bool(_VDSO.match(library))
