"""Hook libraries that are not preloaded: `gdbcuda conform` names them to the loader, or to the driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from conform_hooks import ConformFiles, found_in

from gdbcuda.errors import UserError
from gdbcuda.shell.hook_given import hook_given

AUDIT = """
    #include <link.h>
    unsigned la_version(unsigned version) { return version; }
    unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
    {
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    }
    uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                           const char *name)
    {
        if (strcmp(name, "cuMemAlloc_v2"))
            return symbol->st_value;
        next = (void *)symbol->st_value;
        return (uintptr_t)own;
    }"""
INJECTION = """
    #include <link.h>
    #include <sys/mman.h>
    int InitializeInjection(void)
    {
        const struct link_map *program = dlopen(NULL, RTLD_LAZY);
        unsigned long known[DT_NUM] = {0};
        for (const ElfW(Dyn) *one = program->l_ld; one->d_tag != DT_NULL; one++)
            if (one->d_tag < DT_NUM)
                known[one->d_tag] = one->d_un.d_val;
        next = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemAlloc_v2");
        const ElfW(Rela) *first = (void *)known[DT_JMPREL], *end = first + known[DT_PLTRELSZ] / sizeof *first;
        for (const ElfW(Rela) *one = first; one < end; one++) {
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)known[DT_SYMTAB] + ELF64_R_SYM(one->r_info);
            void **slot = (void **)(program->l_addr + one->r_offset);
            if (strcmp((const char *)known[DT_STRTAB] + symbol->st_name, "cuMemAlloc_v2"))
                continue;
            mprotect((void *)((unsigned long)slot & -4096ul), 4096, PROT_READ | PROT_WRITE);
            *slot = own;
        }
        return 1;
    }"""
WAYS = {"LD_AUDIT": AUDIT, "CUDA_INJECTION64_PATH": INJECTION}
OWN = "static __typeof__(&cuMemAlloc_v2) next;\nstatic CUresult own(CUdeviceptr *dptr, size_t bytesize) { %s }\n"
RIGHT, WRONG = "return next(dptr, bytesize);", "CUdeviceptr lost; return next(&lost, bytesize);"
CASES = ["transparent", "status", "life/fork-exec"]


@pytest.mark.parametrize("variable", WAYS)
def test_of_a_right_one_nothing_is_said(shim: Path, shared: Path, tmp_path: Path, variable: str) -> None:
    hook = ConformFiles(tmp_path, shim).hook("named", OWN % RIGHT + WAYS[variable])
    assert found_in(hook, CASES, [], 0, shared) == []


@pytest.mark.parametrize("variable", WAYS)
def test_what_is_wrong_is_said_and_shown(shim: Path, shared: Path, tmp_path: Path, variable: str) -> None:
    hook = ConformFiles(tmp_path, shim).hook("named", OWN % WRONG + WAYS[variable])
    case = "transparent/cuMemAlloc_v2"
    assert found_in(hook, [case], [], 0, shared) == [f"{case}: out-value dptr is not written"]
    shown = ConformFiles(tmp_path, shim).run(hook, "--show", case).stdout
    assert f"{variable}={hook} ./case" in shown and f"-ex 'cuda-env {variable}={hook}'" in shown


def test_one_that_answers_for_nothing(shim: Path, shared: Path, tmp_path: Path) -> None:
    hook = ConformFiles(tmp_path, shim).hook("audit", "unsigned la_version(unsigned version) { return version; }")
    said = ["start: no API function that a program asks for leads into it"]
    assert found_in(hook, ["transparent"], [], 0, shared) == said
    with pytest.raises(UserError, match="is for LD_AUDIT"):  # by a command that can only preload it
        hook_given(str(hook))
