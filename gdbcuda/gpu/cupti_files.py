"""Where CUPTI is on this machine: in a toolkit, or in the wheels that PyTorch brings (nvidia-cuda-cupti).

`python -m gdbcuda.gpu.cupti_files` prints for make what our library is built with; nothing where its headers are not.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

LIBRARY = "libcupti.so"
STRUCTS = {"KERNEL": "Kernel", "COPY": "Memcpy", "COPY_BETWEEN": "MemcpyPtoP", "FILL": "Memset", "MEMORY": "Memory",
           "POOL": "MemoryPool", "UNIFIED": "UnifiedMemoryCounter", "WAIT": "Synchronization",
           "DEVICE": "Device"}  # fmt: skip
IN_TOOLKIT = ("", "extras/CUPTI", "targets/x86_64-linux", "targets/sbsa-linux")
IN_WHEELS = ("cuda_cupti", "cu13")


class CuptiPlace(NamedTuple):
    """A folder with ``include`` or ``lib`` in it, or both; and where cuda.h may be."""

    folder: str
    cuda: tuple[str, ...] = ()

    @property
    def library(self) -> str:
        """The newest one, by its version's name: libcupti.so.13; "" for none."""
        found = [path for lib in ("lib64", "lib") for path in glob.glob(os.path.join(self.folder, lib, LIBRARY + ".*"))]
        names = [path for path in found if re.fullmatch(r"libcupti\.so\.\d+(\.\d)?", os.path.basename(path))]
        return max(names, key=lambda path: [*map(int, re.findall(r"\d+", os.path.basename(path)))], default="")

    @property
    def includes(self) -> list[str]:
        """What a compiler needs; [] where a header is missing."""
        own = os.path.join(self.folder, "include")
        with_cuda = [one for one in (own, *self.cuda) if os.path.isfile(os.path.join(one, "cuda.h"))]
        return [own, *with_cuda[:1]] if os.path.isfile(os.path.join(own, "cupti.h")) and with_cuda else []


def places() -> Iterator[CuptiPlace]:
    """The toolkit that the user names first."""
    for root in toolkits():
        for inner in IN_TOOLKIT:
            yield CuptiPlace(os.path.join(root, inner) if inner else root, (os.path.join(root, "include"),))
    for site in sites():
        runtimes = tuple(sorted(glob.glob(os.path.join(site, "nvidia", "*", "include"))))
        for inner in IN_WHEELS:
            yield CuptiPlace(os.path.join(site, "nvidia", inner), runtimes)


def toolkits() -> Iterator[str]:
    yield from filter(None, (os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")))
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    yield "/usr/local/cuda"
    yield from sorted(glob.glob("/usr/local/cuda-*"), reverse=True)


def sites() -> Iterator[str]:
    """Packages of this Python, and of the one that the user's environment has in front."""
    yield from (path for path in sys.path if path.endswith("-packages"))
    first = shutil.which("python3")
    if first:
        yield from glob.glob(os.path.join(os.path.dirname(os.path.dirname(first)), "lib", "python3*", "site-packages"))


def libraries() -> list[str]:
    """Paths of libcupti, of every version that is here."""
    found = {os.path.realpath(one.library): one.library for one in reversed(list(places())) if one.library}
    return list(found.values())[::-1]


def newest_structs(headers: str) -> dict[str, str]:
    """The one of each kind that this version of CUPTI writes: CUpti_ActivityKernel10."""
    found = {}
    for key, name in STRUCTS.items():
        numbers = re.findall(rf"^}} CUpti_Activity{name}(\d*);", headers, re.MULTILINE)
        if numbers:
            found[key] = f"CUpti_Activity{name}{max(numbers, key=lambda one: int(one or 0))}"
    return found


def for_make() -> str:
    """Flags of the compiler."""
    for one in places():
        if one.includes and one.library:
            with open(os.path.join(one.includes[0], "cupti_activity.h"), encoding="utf-8", errors="replace") as file:
                structs = newest_structs(file.read())
            if structs.keys() == STRUCTS.keys():
                flags = [f"-isystem '{path}'" for path in dict.fromkeys(one.includes)]
                flags += [f"-DCUPTI_{key}={name}" for key, name in structs.items()]
                return f"{' '.join(flags)} -DCUPTI_SONAME='\"{os.path.basename(one.library)}\"'\n"
    return ""


if __name__ == "__main__":
    print(for_make(), end="")
