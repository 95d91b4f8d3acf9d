"""``cuda-memory torch``: PyTorch's caching allocator at a stop, in a core file, behind a link.

A library stands in for PyTorch's: it maps a file that tests/unit/torch_allocator_image.py makes, where its pointer
leads.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scenario import Scenario
from torch_allocator_image import BASE, FREE, TENSOR, AllocatorImage, Made

from gdbcuda.pytorch import allocator_layouts

MIB = 1 << 20
SEGMENT = Made(0x200000000000, [(5 * MIB, 5 * MIB - 7, TENSOR), (15 * MIB, 0, FREE)])
ELSEWHERE = Made(0x300000000000, [(2 * MIB, 0, FREE)], is_small=True)
VERSION = "__version__ = '2.6.0+cu124'\n"
LIBRARY = f"""
#include <fcntl.h>
#include <sys/mman.h>
extern void *pointer __asm__("_ZN3c104cuda20CUDACachingAllocator9allocatorE");
void *pointer;
void begin(const char *file) {{
    mmap((void *){BASE:#x}, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, open(file, O_RDONLY), 0);
    *(volatile char *)({BASE:#x} + 8) = 1;
    pointer = *(void **){BASE:#x};
}}
"""
PROGRAM = """
#include "gdbcuda_api.h"
void begin(const char *file);
void here(void) {}
int main(int count, char **words) {
    CUdeviceptr segment;
    CUcontext context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
    if (cuMemAlloc_v2(&segment, 20 << 20) != CUDA_SUCCESS) return 1;
    begin(words[1]);
    here();
    return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path, compile_c, shim: Path) -> Path:
    image = AllocatorImage(allocator_layouts.KNOWN[2, 6]).fill([SEGMENT, ELSEWHERE])
    (tmp_path / "image").write_bytes(image.data)
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "version.py").write_text(VERSION)
    library = compile_c("libc10_cuda.so", LIBRARY, "-shared").rename(tmp_path / "torch" / "lib" / "libc10_cuda.so")
    return compile_c("caching", PROGRAM, f"-I{shim}", str(library), f"-L{shim}/standin", "-lcuda",
                     f"-Wl,-rpath,{library.parent}")  # fmt: skip


def debugged(scenario: Scenario, program: Path, *commands: str) -> str:
    return scenario.run(program, "break here", *commands, hook=None, arguments=(str(program.parent / "image"),))


def test_beside_the_log(scenario: Scenario, program: Path) -> None:
    text = debugged(scenario, program, "cuda-log start --memory", "RUN", "cuda-memory torch")
    assert ("Device 0: PyTorch has 22.00 MiB in 2 segments. 5.00 MiB of it are in 1 tensor (which need 5.00 MiB), "
            "17.00 MiB are cached.\nThe log knows who made the segments, 1 of 2.") in text  # fmt: skip
    assert re.search(r"0x200000000000 .* large +#\d+ cuMemAlloc_v2 .*main", text)
    assert re.search(r"0x300000000000 .* small +not in the log", text)
    assert "Which lines hold the tensors a snapshot says" in text


def test_in_a_core_file(local: Scenario, program: Path, tmp_path: Path) -> None:
    core = tmp_path / "core"
    debugged(local, program, "run", f"generate-core-file {core}", "kill")
    text = debugged(local, program, f"core-file {core}", "cuda-memory torch", "cuda-memory torch --json")
    assert "PyTorch has 22.00 MiB in 2 segments" in text and "The log knows" not in text
    data = json.loads(next(line for line in text.splitlines() if line.startswith('{"segments"')))
    assert [(one["address"], one["cached"], len(one["blocks"])) for one in data["segments"]] == [
        ("0x200000000000", 15 * MIB, 2),
        ("0x300000000000", 2 * MIB, 1),
    ]


def test_what_is_not_known_is_said_and_nothing_shown(local: Scenario, program: Path) -> None:
    (program.parent / "torch" / "version.py").write_text("__version__ = '2.99.0'\n")
    count = f"set *(long *)(*(long *)*(long *)(*(long *){BASE:#x} + 22584) + 520) = 1"
    right = f"python open({str(program.parent / 'torch' / 'version.py')!r}, 'w').write({VERSION!r})"
    text = debugged(local, program, "cuda-memory torch", "run", "cuda-memory torch", right, count, "cuda-memory torch",
                    "cuda-memory torch 1")  # fmt: skip
    assert "(libc10_cuda.so) is not loaded" in text
    assert "PyTorch 2.99.0's allocator is not read: known are 2.3 to 2.12, 2.14 to 2.15. torch.cuda" in text
    assert "PyTorch 2.6.0+cu124's allocator is not read: its books do not agree with themselves here" in text
    assert "Device 0" not in text and "torch takes neither an address" in text
