"""Hook libraries that are wrong on purpose, one fault each, and a program that they are tried on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT, clean_environment

BEGIN = """\
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "gdbcuda_api.h"
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
"""
HOOKS = {
    "right": "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT(cuMemAlloc_v2)(p, n); }",
    "minus_one": "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { (void)p, (void)n; return (CUresult)-1; }",
    "size_padded": "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT(cuMemAlloc_v2)(p, n + 512); }",
    "stream_dropped": """CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream stream)
        { (void)stream; return NEXT(cuMemcpyHtoDAsync_v2)(d, s, n, 0); }""",
    "by_another_thread": """static CUdeviceptr *where; static size_t size;
        static CUcontext context; static CUresult result;
        static void *serve(void *nothing)
        { NEXT(cuCtxSetCurrent)(context); result = NEXT(cuMemAlloc_v2)(where, size); return nothing; }
        CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
        { pthread_t thread; NEXT(cuCtxGetCurrent)(&context); where = p; size = n;
        pthread_create(&thread, 0, serve, 0); pthread_join(thread, 0); return result; }""",
    "slot_changed": """#include <link.h>
        #include <string.h>
        #include <sys/mman.h>
        static CUresult own(CUdeviceptr *p, size_t n) { return NEXT(cuMemAlloc_v2)(p, n); }
        __attribute__((constructor)) static void patch(void)
        { const struct link_map *map = dlopen(0, RTLD_LAZY); unsigned long known[DT_NUM] = {0};
        for (const ElfW(Dyn) *one = map->l_ld; one->d_tag; one++)
        if (one->d_tag < DT_NUM) known[one->d_tag] = one->d_un.d_val;
        const ElfW(Rela) *one = (void *)known[DT_JMPREL], *end = one + known[DT_PLTRELSZ] / sizeof *one;
        for (; one < end; one++) { const ElfW(Sym) *symbol = (ElfW(Sym) *)known[DT_SYMTAB] + ELF64_R_SYM(one->r_info);
        void **slot = (void **)(map->l_addr + one->r_offset);
        if (strcmp((char *)known[DT_STRTAB] + symbol->st_name, "cuMemAlloc_v2")) continue;
        mprotect((void *)((unsigned long)slot & -4096ul), 4096, PROT_READ | PROT_WRITE); *slot = own; } }""",
    "audited": """#include <link.h>
        #include <string.h>
        static __typeof__(&cuMemAlloc_v2) next;
        static CUresult own(CUdeviceptr *p, size_t n) { return next(p, n + 512); }
        unsigned la_version(unsigned version) { return version; }
        unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) { return 3; }
        uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                               const char *name)
        { if (strcmp(name, "cuMemAlloc_v2")) return symbol->st_value;
        next = (void *)symbol->st_value; return (uintptr_t)own; }""",
    "injected": "int InitializeInjection(void) { return write(1, \"injected\\n\", 9) == 9; }",
    "entry_changed": """#include <sys/mman.h>
        __attribute__((constructor)) static void patch(void)
        { void *page = (void *)((unsigned long)dlsym(RTLD_NEXT, "cuMemAlloc_v2") & -4096ul);
        mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC); mprotect(page, 4096, PROT_READ | PROT_EXEC); }""",
    "swallowed": "CUresult cuMemFree_v2(CUdeviceptr p) { (void)p; return CUDA_SUCCESS; }",
    "freed_twice": "CUresult cuMemFree_v2(CUdeviceptr p) { NEXT(cuMemFree_v2)(p); NEXT(cuMemFree_v2)(p); return 0; }",
    "freed_late": """static CUdeviceptr kept;
        CUresult cuMemFree_v2(CUdeviceptr p) { kept = p; return CUDA_SUCCESS; }
        CUresult cuMemGetInfo_v2(size_t *f, size_t *t) { if (kept) NEXT(cuMemFree_v2)(kept);
        kept = 0; return NEXT(cuMemGetInfo_v2)(f, t); }""",
    "other_function": "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT(cuMemAllocManaged)(p, n, 1); }",
    "out_changed": """CUresult cuMemGetInfo_v2(size_t *f, size_t *t)
        { CUresult r = NEXT(cuMemGetInfo_v2)(f, t); *t = 2ul << 30; return r; }""",
    "out_null": """CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
        { CUresult r = NEXT(cuMemAlloc_v2)(p, n); *p = 0; return r; }""",
    "status_hidden": """CUresult cuMemFree_v2(CUdeviceptr p) { NEXT(cuMemFree_v2)(p); return CUDA_SUCCESS; }""",
    "memory_kept": """CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
        { static CUdeviceptr own; if (!own) NEXT(cuMemAlloc_v2)(&own, 65536); return NEXT(cuMemAlloc_v2)(p, n); }""",
    "version_wrong": """CUresult cuGetProcAddress_v2(const char *n, void **f, int v, cuuint64_t flags,
        CUdriverProcAddressQueryResult *s) { (void)v; return NEXT(cuGetProcAddress_v2)(n, f, 13000, flags, s); }""",
    "crash": "CUresult cuMemFree_v2(CUdeviceptr p) { (void)p; abort(); }",
    "deadlock": """static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        CUresult cuMemFree_v2(CUdeviceptr p)
        { pthread_mutex_lock(&lock); pthread_mutex_lock(&lock); return NEXT(cuMemFree_v2)(p); }""",
    "exit_changed": "__attribute__((destructor)) static void end(void) { _exit(3); }",
    "said_more": """CUresult cuMemFree_v2(CUdeviceptr p)
        { write(2, "freed\\n", 6); return NEXT(cuMemFree_v2)(p); }""",
    "hidden": "#pragma GCC visibility push(hidden)\nCUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)"
              "{ return NEXT(cuMemAlloc_v2)(p, n); }",
    "past_the_loader": """
        #include <link.h>
        #include <string.h>
        static char *real;
        static int look(struct dl_phdr_info *object, size_t size, void *name)
        {
            const ElfW(Dyn) *entry = 0;
            const ElfW(Sym) *symbol = 0;
            char *texts = 0;
            for (int i = 0; strstr(object->dlpi_name, "libcuda.so") && i < object->dlpi_phnum; i++)
                if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
                    entry = (void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
            for (; entry && entry->d_tag; entry++) {
                symbol = entry->d_tag == DT_SYMTAB ? (void *)entry->d_un.d_ptr : symbol;
                texts = entry->d_tag == DT_STRTAB ? (void *)entry->d_un.d_ptr : texts;
            }
            for (; (char *)symbol < texts && !real; symbol++)
                if (!strcmp(texts + symbol->st_name, name) && symbol->st_value)
                    real = (char *)object->dlpi_addr + symbol->st_value;
            return size == 0;
        }
        CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
        { dl_iterate_phdr(look, "cuMemAlloc_v2"); return ((__typeof__(&cuMemAlloc_v2))real)(p, n); }""",
    "watching": """static void *watch(void *n) { size_t f, t; NEXT(cuMemGetInfo_v2)(&f, &t); return n; }
        CUresult cuMemFree_v2(CUdeviceptr p) { pthread_t t; pthread_create(&t, 0, watch, 0); pthread_join(t, 0);
        return NEXT(cuMemFree_v2)(p); }""",
}  # fmt: skip
PROGRAM = """
#include <stdio.h>
#include <unistd.h>
#define GDBCUDA_API_SOURCE_NAMES
#include "gdbcuda_api.h"
static char bytes[4096];
int main(void)
{
    CUdevice device; CUcontext context; CUdeviceptr block = 0; CUstream stream; size_t rest, total = 0; void *found;
    cuInit(0), cuDeviceGet(&device, 0), cuDevicePrimaryCtxRetain(&context, device), cuCtxSetCurrent(context);
    cuStreamCreate(&stream, 0);
    cuGetProcAddress("cuMemAdvise", &found, 8000, 0, 0);
    int status = cuMemAlloc(&block, 4096);
    cuMemcpyHtoDAsync(block, bytes, 4096, stream);
    cuMemFree(block);
    int again = cuMemFree(1);
    cuMemGetInfo(&rest, &total);
    printf("pid %d: %d %d %p, took %d.5 ms, %zu\\n", getpid(), status, again, (void *)&device, getpid() % 7,
           total >> 30);
}
"""


class AbFiles:
    def __init__(self, folder: Path, shim: Path) -> None:
        self.folder, self.shim = folder, shim
        self.program = self.built("program", PROGRAM, f"-L{shim}/standin", "-lcuda")

    def built(self, name: str, source: str, *options: str) -> Path:
        path = self.folder / name
        (self.folder / f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-g", "-D_GNU_SOURCE", f"-I{self.shim}", "-o", str(path), f"{path}.c", *options,
                        "-ldl", "-lpthread"], check=True)  # fmt: skip
        return path

    def hook(self, name: str) -> Path:
        return self.built(f"lib{name}.so", BEGIN + HOOKS[name], "-shared", "-fPIC", "-Wno-unused-result")

    def environment(self) -> dict[str, str]:
        return {**clean_environment(), "LD_LIBRARY_PATH": f"{self.shim}/sample:{self.shim}/standin",
                "PYTHONPATH": str(ROOT)}  # fmt: skip

    def line(self, *words: object, program: Path | None = None) -> list[str]:
        return [sys.executable, "-m", "gdbcuda", *self.words(*words, program=program)]

    def words(self, *words: object, program: Path | None) -> list[str]:
        return ["ab", *map(str, words), "--", str(program or self.program)]

    def ab(self, *words: object, stdin: str = "", program: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run_gdbcuda(*self.words(*words, program=program), env=self.environment(), input=stdin)

    def data(self, *words: object, stdin: str = "", program: Path | None = None) -> dict[str, Any]:
        done = self.ab(*words, "--json", stdin=stdin, program=program)
        assert done.stderr == "", done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == found["status"]
        return found

    def differences(self, *words: object, program: Path | None = None) -> dict[str, int]:
        return {one["difference"]: one["times"] for one in self.data(*words, program=program)["differences"]}
