"""gdbcuda trace of a hook library that overwrites what dlsym gives it, and copies what was there without a look,
or that writes into a slot."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder

PATCHER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
typedef int alloc(void **pointer, unsigned long size);
static alloc *moved;
static int twice(void **pointer, unsigned long size) { return moved(pointer, 2 * size); }
static void jump(unsigned char *at, const void *to)
{
    memcpy(at, "\xff\x25\0\0\0", 6);
    memcpy(at + 6, &to, 8);
}
__attribute__((constructor)) static void install(void)
{
    unsigned char *entry = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
    unsigned char *copy = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, entry, COPIED);
    jump(copy + COPIED, entry + COPIED);
    moved = (alloc *)copy;
    mprotect((void *)((uintptr_t)entry & -4096ul), 8192, 7);
    jump(entry, (void *)twice);
}
"""

WRITES_A_SLOT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
typedef int alloc(void **pointer, unsigned long size);
static alloc *before;
WHERE int twice(void **pointer, unsigned long size) { return before(pointer, 2 * size); }
__attribute__((constructor)) static void install(void)
{
    struct link_map *program = dlopen(NULL, RTLD_NOW);
    unsigned long parts[DT_NUM] = {0};
    for (ElfW(Dyn) *one = program->l_ld; one->d_tag; one++)
        if (one->d_tag < DT_NUM)
            parts[one->d_tag] = one->d_un.d_val;
    ElfW(Rela) *at = (void *)parts[DT_JMPREL], *end = (void *)(parts[DT_JMPREL] + parts[DT_PLTRELSZ]);
    for (; at < end; at++) {
        ElfW(Sym) *symbol = (ElfW(Sym) *)parts[DT_SYMTAB] + ELF64_R_SYM(at->r_info);
        alloc **slot = (alloc **)(program->l_addr + at->r_offset);
        if (strcmp((char *)parts[DT_STRTAB] + symbol->st_name, "cuMemAlloc_v2"))
            continue;
        mprotect((void *)((unsigned long)slot & -4096ul), 8192, 3);
        before = (alloc *)dlsym(RTLD_NEXT, "cuMemAlloc_v2");
        *slot = twice;
    }
}
"""


def preloaded(folder: Path, text: str, *flags: str) -> Path:
    hook, source = folder / "libpatcher.so", folder / "patcher.c"
    source.write_text(text)
    command = ["gcc", "-O1", "-shared", "-fPIC", *flags, "-o", str(hook), str(source), "-ldl", *OLDER_LIBC]
    subprocess.run(command, check=True)
    return hook


@pytest.mark.parametrize("copied, options", [(14, ()), (16, ("--filter", "bytesize > 1G"))])
def test_what_it_is_given_may_be_moved(trace: Trace, tmp_path: Path, copied: int, options: tuple[str, ...]) -> None:
    hook = preloaded(tmp_path, PATCHER, f"-DCOPIED={copied}")
    found = trace("dlsym_alloc", options=("--hook", str(hook), *options))
    sizes = [call["arguments"]["bytesize"] for call in found.calls() if call["name"] == "cuMemAlloc_v2"]
    assert found.done.returncode == 0 and set(sizes) == {2 * ((1 << 30) + 1)}
    assert "the beginning of 1 function of libcuda.so.1 has been overwritten" in found.log("summary").stderr


HIDDEN, EXPORTED = ("-DWHERE=static",), ("-DWHERE=", "-Dtwice=cuMemAlloc_v2")
SAID = "1 function of libpatcher.so could not be recorded, which it has written into slots that others call through"


@pytest.mark.parametrize("where, flags, calls", [((), HIDDEN, 3), (("--in", "hook"), EXPORTED, 0)])
def test_a_function_in_a_slot_of_the_programs_is_said_to_be_missing(
    trace: Trace, tmp_path: Path, where: tuple[str, ...], flags: tuple[str, ...], calls: int
) -> None:
    """Nobody asks for it, so the loader leads no call of it to the recorder; what it calls in turn is there."""
    hook = preloaded(tmp_path, WRITES_A_SLOT, *flags)
    found = trace("test_alloc", options=("--hook", str(hook), *where), LD_BIND_NOW="1")
    assert found.done.returncode == 0 and found.counts()["cuMemAlloc_v2"] == calls
    assert f"{SAID}: cuMemAlloc_v2" in found.log("summary").stderr


def test_a_function_that_no_filter_wants_is_not_said_to_be_missing(trace: Trace, tmp_path: Path) -> None:
    hook = preloaded(tmp_path, WRITES_A_SLOT, *HIDDEN)
    found = trace("test_alloc", options=("--hook", str(hook), "--filter", "ByteCount > 1"), LD_BIND_NOW="1")
    assert set(found.counts()) == {"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"} and SAID not in found.log("summary").stderr
