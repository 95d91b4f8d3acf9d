"""gdbcuda conform: hook libraries that break one promise each, and what is said of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conform_hooks import ConformFiles
from shim_support import HOOK

ALLOC = "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)"
COPY = "CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream stream)"
INFO = "CUresult cuMemGetInfo_v2(size_t *f, size_t *t)"
TRANSPARENT = {
    "right": (f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n); }}", []),
    "own_place": (f"{ALLOC} {{ CUdeviceptr own; CUresult r = NEXT(cuMemAlloc_v2)(&own, n); *p = own; return r; }}", []),
    "size_padded": (f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n + 512); }}",
                    ["cuMemAlloc_v2: argument bytesize is changed"]),
    "size_cut": (f"{COPY} {{ return NEXT(cuMemcpyHtoDAsync_v2)((unsigned)d, s, n, stream); }}",
                 ["cuMemcpyHtoDAsync_v2: argument dstDevice is changed"]),
    "stream_dropped": (f"{COPY} {{ return NEXT(cuMemcpyHtoDAsync_v2)(d, s, n, 0); }}",
                       ["cuMemcpyHtoDAsync_v2: argument hStream is changed"]),
    "swallowed": (f"{ALLOC} {{ *p = 4096; return 0; }}", ["cuMemAlloc_v2: it does not reach the driver"]),
    "elsewhere": (f"{ALLOC} {{ return NEXT(cuMemAllocManaged)(p, n, 1); }}",
                  ["cuMemAlloc_v2: it does not reach the driver"]),
    "older": (f"{INFO} {{ unsigned a, b; CUresult r = NEXT(cuMemGetInfo)(&a, &b); *f = a, *t = b; return r; }}",
              ["cuMemGetInfo_v2: the driver gets cuMemGetInfo instead"]),
    "twice": (f"{ALLOC} {{ NEXT(cuMemAlloc_v2)(p, n); return NEXT(cuMemAlloc_v2)(p, n); }}",
              ["cuMemAlloc_v2: the driver gets it 2 times"]),
    "out_forgotten": (f"{ALLOC} {{ CUdeviceptr own; return NEXT(cuMemAlloc_v2)(&own, n); }}",
                      ["cuMemAlloc_v2: out-value dptr is not written"]),
    "out_changed": (f"{INFO} {{ CUresult r = NEXT(cuMemGetInfo_v2)(f, t); *t = 7; return r; }}",
                    ["cuMemGetInfo_v2: out-value total is changed"]),
    "out_null": (f"{INFO} {{ return NEXT(cuMemGetInfo_v2)(f, 0); }}",
                 ["cuMemGetInfo_v2: argument total is NULL for the driver",
                  "cuMemGetInfo_v2: out-value total is not written"]),
    "too_wide": (f"{INFO} {{ CUresult r = NEXT(cuMemGetInfo_v2)(f, t); t[1] = 0; return r; }}",
                 ["cuMemGetInfo_v2: memory beyond its out-parameters is written"]),
    "result_lost": (f"{ALLOC} {{ NEXT(cuMemAlloc_v2)(p, n); return CUDA_ERROR_UNKNOWN; }}",
                    ["cuMemAlloc_v2: the result is changed"]),
    "errno_lost": (f"{ALLOC} {{ CUresult r = NEXT(cuMemAlloc_v2)(p, n); close(-1); return r; }}",
                   ["cuMemAlloc_v2: errno is changed"]),
    "struct_changed": ("CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c) { CUDA_MEMCPY3D own = *c; own.Depth++; "
                       "return NEXT(cuMemcpy3D_v2)(&own); }",
                       ["cuMemcpy3D_v2: what argument pCopy points to is changed"]),
    "by_value": ("CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcMemHandle h, unsigned f) "
                 "{ h.reserved[63]++; return NEXT(cuIpcOpenMemHandle_v2)(p, h, f); }",
                 ["cuIpcOpenMemHandle_v2: argument handle is changed"]),
    "on_the_stack": ("CUresult cuLaunchKernel(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, "
                     "unsigned e, unsigned g, unsigned s, CUstream t, void **k, void **x) "
                     "{ return NEXT(cuLaunchKernel)(f, a, b, c, d, e, g, s, t, k, k); }",
                     ["cuLaunchKernel: argument extra is changed"]),
    "crash": (f"{ALLOC} {{ return *(volatile int *)8; }}",
              ["cuMemAlloc_v2: it ends with SIGSEGV in cuMemAlloc_v2 of libcrash.so"]),
    "recursion": (f"{ALLOC} {{ CUresult (*own)() = (void *)cuMemAlloc_v2; return own(p, n) + 1; }}",
                  ["cuMemAlloc_v2: it calls itself until the stack is full, in cuMemAlloc_v2 of librecursion.so"]),
    "exits": (f"{ALLOC} {{ exit(3); }}", ["cuMemAlloc_v2: it ends with the status 3"]),
    "by_dlsym": ("static CUresult own(CUdeviceptr *p, size_t n) { return NEXT(cuMemAlloc_v2)(p, n + 1); }\n"
                 "void *dlsym(void *h, const char *s) { void *r = dlvsym(RTLD_NEXT, \"dlsym\", \"GLIBC_2.2.5\");"
                 "void *(*real)(void *, const char *) = r; "
                 "return h == RTLD_NEXT || strcmp(s, \"cuMemAlloc_v2\") ? real(h, s) : (void *)own; }",
                 ["cuMemAlloc_v2: argument bytesize is changed"]),
}  # fmt: skip
STATUS = {
    "right": (f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n); }}", []),
    "minus_one": (f"{ALLOC} {{ return n > 1ul << 32 ? -1 : NEXT(cuMemAlloc_v2)(p, n); }}",
                  ["cuMemAlloc_v2: a large size: it returns what is not in CUresult"]),
    "refused": (f"{ALLOC} {{ return n > 1ul << 32 ? CUDA_ERROR_OUT_OF_MEMORY : NEXT(cuMemAlloc_v2)(p, n); }}", []),
    "errno_for_status": (f"{ALLOC} {{ CUresult r = NEXT(cuMemAlloc_v2)(p, n); return r ? -r : 0; }}",
                         ["cuMemAlloc_v2: NULL for dptr: the result is changed",
                          "cuMemAlloc_v2: a call that fails: it returns what is not in CUresult",
                          "cuMemAlloc_v2: a call that fails: the status not passed on"]),
    "one_hidden": (f"{ALLOC} {{ CUresult r = NEXT(cuMemAlloc_v2)(p, n); return r == 700 ? 999 : r; }}",
                   ["cuMemAlloc_v2: a call that fails: CUDA_ERROR_ILLEGAL_ADDRESS not passed on"]),
    "written_anyway": (f"{ALLOC} {{ CUresult r = NEXT(cuMemAlloc_v2)(p, n); if (p && r) *p = 0; return r; }}",
                       ["cuMemAlloc_v2: a call that fails: what dptr points to is written"]),
    "null_crashes": (f"{INFO} {{ CUresult r = NEXT(cuMemGetInfo_v2)(f, t); *t -= 1; *t += 1; return r; }}",
                     ["cuMemGetInfo_v2: NULL for total: it ends with SIGSEGV in cuMemGetInfo_v2 of "
                      "libnull_crashes.so"]),
    "null_accepted": (f"{ALLOC} {{ CUdeviceptr own; CUresult r = NEXT(cuMemAlloc_v2)(&own, n); if (!r && p) *p = own; "
                      "return p ? r : 0; }", ["cuMemAlloc_v2: NULL for dptr: the result is changed"]),
    "stream_null": (f"{COPY} {{ return NEXT(cuMemcpyHtoDAsync_v2)(d, s, n, stream ? stream : (CUstream)2); }}",
                    ["cuMemcpyHtoDAsync_v2: NULL for hStream: argument hStream is changed"]),
    "optional_crashes": ("CUresult cuMemGetAddressRange_v2(CUdeviceptr *b, size_t *s, CUdeviceptr d) { CUresult r = "
                         "NEXT(cuMemGetAddressRange_v2)(b, s, d); if (!r) *(volatile size_t *)s; return r; }",
                         ["cuMemGetAddressRange_v2: NULL for psize: it ends with SIGSEGV in cuMemGetAddressRange_v2 of "
                          "liboptional_crashes.so"]),
}  # fmt: skip
DLSYM = """
static void *real(void *h, const char *s)
{ return ((void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(h, s); }
#define NEXT2(name) ((__typeof__(&name))real(RTLD_NEXT, #name))
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT2(cuMemAlloc_v2)(p, n); }
CUresult cuMemFree_v2(CUdeviceptr p) { return NEXT2(cuMemFree_v2)(p); }
static void *library(void) { return dlopen("libcuda.so.1", RTLD_LAZY); }
"""
PROC = """
CUresult cuGetProcAddress_v2(const char *n, void **f, int v, cuuint64_t flags, CUdriverProcAddressQueryResult *s)
"""
ELSEWHERE = [f"API names in other libraries: API functions are found in {one}" for one in ("libc.so.6", "libm.so.6")]
OTHER = "gives another function than the driver"
SAYS = "says otherwise than the driver whether there is such a function"
CALLS = "gives a function of the hook's that calls another one than the driver's"
RESOLVING = {
    "right": (DLSYM, []),
    "handle_ignored": (DLSYM + "void *dlsym(void *h, const char *s) { "
                       'return strcmp(s, "cuMemFree_v2") || h == RTLD_NEXT ? real(h, s) : (void *)cuMemFree_v2; }',
                       ELSEWHERE),
    "prefix_compared": (DLSYM + "void *dlsym(void *h, const char *s) { "
                        'return strncmp(s, "cuMemFree", 9) || h == RTLD_NEXT ? real(h, s) : (void *)cuMemFree_v2; }',
                        [*ELSEWHERE, *(f"{name}: {way} gives the hook library's function of another name"
                                       for name in ("cuMemFree", "cuMemFreeAsync", "cuMemFreeAsync_ptsz",
                                                    "cuMemFreeHost")
                                       for way in ("dlsym", "dlsym(RTLD_DEFAULT)"))]),
    "others_taken": (DLSYM + "void *dlsym(void *h, const char *s) { "
                     'return strcmp(s, "malloc") ? real(h, s) : (void *)cuMemAlloc_v2; }',
                     ["names of others: dlsym(RTLD_DEFAULT, malloc) is another than without the hook library",
                      "names of others: dlsym(libc.so.6, malloc) is another than without the hook library"]),
    "nothing_found": (DLSYM + "void *dlsym(void *h, const char *s) { "
                      'return strcmp(s, "cuMemAllocAsync") ? real(h, s) : 0; }',
                      ["cuMemAllocAsync: dlsym finds nothing, and the driver has it",
                       "cuMemAllocAsync: dlsym(RTLD_DEFAULT) finds nothing, and the driver has it"]),
    "new_each_time": (DLSYM + """
                      static CUresult a(CUdeviceptr p) { return NEXT2(cuMemFree_v2)(p); }
                      static CUresult b(CUdeviceptr p) { return NEXT2(cuMemFree_v2)(p) + 0; }
                      void *dlsym(void *h, const char *s) { static int n;
                      if (strcmp(s, "cuMemFree_v2") || h != library()) return real(h, s);
                      return n++ & 1 ? (void *)a : (void *)b; }""",
                      ["cuMemFree_v2: dlsym gives another address each time"]),
    "recursing": ("void *dlsym(void *h, const char *s) { void *(*own)() = (void *)dlsym; "
                  'return strcmp(s, "cuMemFree") ? ((void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", '
                  '"GLIBC_2.2.5"))(h, s) : (char *)own(h, s) + 1; }'
                  "CUresult cuMemFree_v2(CUdeviceptr p) { return NEXT(cuMemFree_v2)(p); }",
                  ["cuMemFree: it calls itself until the stack is full, in dlsym of librecursing.so"]),
    "version_ignored": (f"{PROC} {{ return NEXT(cuGetProcAddress_v2)(n, f, 13000, flags, s); }}",
                        [f"cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) {OTHER}",
                         f"cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) {SAYS}",
                         f"cuMemAllocAsync by cuGetProcAddress: cuGetProcAddress_v2 (linked) {SAYS}"]),
    "flags_ignored": (f"{PROC} {{ return NEXT(cuGetProcAddress_v2)(n, f, v, 0, s); }}",
                      [f"cuMemAllocAsync by cuGetProcAddress: cuGetProcAddress_v2 (linked) {OTHER}"]),
    "wrong_one_of_its_own": ("static CUresult hidden(CUdeviceptr p, size_t n, CUmem_advise a, CUmemLocation l) "
                             "{ return NEXT(cuMemAdvise_v2)(p, n, a, l); }"
                             f"{PROC} {{ CUresult r = NEXT(cuGetProcAddress_v2)(n, f, v, flags, s); "
                             'if (!r && *f && !strcmp(n, "cuMemAdvise")) *f = (void *)hidden; return r; }',
                             [f"cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) {CALLS}"]),
}  # fmt: skip
RESOLVED = ("cuMemAllocAsync", "cuMemAllocAsync by *", "cuMemFree", "cuMemFreeAsync", "cuMemFreeAsync_ptsz",
            "cuMemFreeHost", "cuMemFree_v2", "cuMemAdvise by *", "*other*")


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


@pytest.mark.parametrize("name", TRANSPARENT)
def test_what_is_not_passed_on(files: ConformFiles, name: str) -> None:
    text, expected = TRANSPARENT[name]
    found = files.broken(files.hook(name, text), "--only", "transparent")
    assert found == [f"transparent/{one}" for one in expected]


@pytest.mark.parametrize("name", STATUS)
def test_statuses(files: ConformFiles, name: str) -> None:
    text, expected = STATUS[name]
    assert files.broken(files.hook(name, text), "--only", "status") == [f"status/{one}" for one in expected]


@pytest.mark.parametrize("name", RESOLVING)
def test_names(files: ConformFiles, name: str) -> None:
    text, expected = RESOLVING[name]
    chosen = [word for glob in RESOLVED for word in ("--only", f"resolving/{glob}")]
    found = files.broken(files.hook(name, text), *chosen)
    assert found == sorted(f"resolving/{one}" for one in expected)


@pytest.mark.parametrize("group, name, case, said", [
    ("t", "size_padded", "transparent/cuMemAlloc_v2", "result 0, errno 77"),
    ("t", "by_value", "transparent/cuIpcOpenMemHandle_v2", "result 0, errno 77"),
    ("t", "by_dlsym", "transparent/cuMemAlloc_v2", "result 0, errno 77"),
    ("s", "minus_one", "status/cuMemAlloc_v2", "result -1, errno 11"),
    ("s", "one_hidden", "status/cuMemAlloc_v2", "result 999, errno 77"),
    ("s", "null_crashes", "status/cuMemGetInfo_v2", ""),
    ("r", "others_taken", "resolving/names of others", "cuMemAlloc_v2 of "),
    ("r", "prefix_compared", "resolving/cuMemFreeHost", "cuMemFree_v2 of "),
    ("r", "version_ignored", "resolving/cuMemAdvise by cuGetProcAddress", "cuMemAdvise_v2 of "),
])  # fmt: skip
def test_the_program_that_shows_it(
    files: ConformFiles, tmp_path: Path, group: str, name: str, case: str, said: str
) -> None:
    """It compiles, and does what the case has found."""
    text, _ = {"t": TRANSPARENT, "s": STATUS, "r": RESOLVING}[group][name]
    done = files.run(files.hook(name, text), "--show", case, "-o", tmp_path / "case")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "case" / "case.c").read_text().splitlines()
    compiled, played = (next(line for line in lines if word in line).strip() for word in ("gcc -std", "LD_PRELOAD="))
    shown = subprocess.run(f"{compiled} && {played}", shell=True, cwd=tmp_path / "case", capture_output=True, text=True)
    assert said in shown.stdout and ("Segmentation fault" in shown.stderr) == (name == "null_crashes"), shown
    assert any("gdbcuda gdb -ex 'cuda-load" in line for line in lines)


def test_what_holds_is_not_shown(files: ConformFiles) -> None:
    done = files.run(files.hook("holds", TRANSPARENT["right"][0]), "--show", "transparent/cuMemAlloc_v2")
    assert done.stderr == "gdbcuda: transparent/cuMemAlloc_v2 is kept: there is nothing to show (seed 1)\n"


@pytest.mark.parametrize("group", ["transparent", "status", "resolving"])
def test_our_own_hook_library_keeps_it(files: ConformFiles, shim: Path, group: str) -> None:
    report = files.data(shim / HOOK, "--only", group, "--seconds", "1000")
    assert report["broken"] == [] and report["not_run"] == 0 and len(report["cases"]) > 1400


def test_a_hang_is_a_finding(files: ConformFiles) -> None:
    hook = files.hook("hang", f"{ALLOC} {{ for (;;) pause(); }}\n{INFO} {{ return NEXT(cuMemGetInfo_v2)(f, t); }}")
    report = files.data(hook, "--only", "transparent")
    assert [one["broken"] for one in report["broken"]] == ["it is not over after 10 s"]
    assert len(report["cases"]) == 2


def test_a_library_with_which_nothing_begins(files: ConformFiles) -> None:
    done = files.run(files.hook("gone", "__attribute__((constructor)) static void begin(void) { abort(); }"))
    assert "start: a program does not begin with it\n    it ends with SIGABRT" in done.stdout
    assert done.returncode == 1


def test_what_is_meant_is_allowed(files: ConformFiles, tmp_path: Path) -> None:
    hook, meant = files.hook("padded", TRANSPARENT["size_padded"][0]), tmp_path / "meant.txt"
    assert files.run(hook, "--only", "transparent", "--accept", meant).returncode == 0
    assert meant.read_text().splitlines()[2:] == ["transparent/cuMemAlloc_v2: argument bytesize is changed"]
    assert files.run(hook, "--only", "transparent", "--allow", meant, "--seed", "7").returncode == 0
    other = files.hook("dropped", TRANSPARENT["stream_dropped"][0])
    done = files.run(other, "--only", "transparent", "--allow", meant)
    assert done.returncode == 1 and "Allowed, and not seen:\n  transparent/cuMemAlloc_v2" in done.stdout


def test_a_report_for_ci(files: ConformFiles, tmp_path: Path) -> None:
    hook = files.hook("ci", f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n + 1); }}\n"
                            f"{INFO} {{ return NEXT(cuMemGetInfo_v2)(f, t); }}")  # fmt: skip
    assert files.run(hook, "--only", "transparent", "--junit", tmp_path / "conform.xml").returncode == 1
    suite = ElementTree.parse(tmp_path / "conform.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert {case.get("name"): len(case) for case in suite} == {
        "transparent/cuMemAlloc_v2": 1, "transparent/cuMemGetInfo_v2": 0
    }  # fmt: skip


def test_the_same_seed_makes_the_same(files: ConformFiles) -> None:
    hook = files.hook("seeded", TRANSPARENT["size_padded"][0])
    first, again, other = (files.data(hook, "--only", "transparent", "--seed", seed)["broken"] for seed in "334")
    assert first == again and first != other


@pytest.mark.parametrize(
    "words, line",
    [(("nowhere.so",), "gdbcuda: nowhere.so: no such file or directory"),
     (("README.md",), "gdbcuda: README.md: is not an ELF file (begins with '# gdbcud')"),
     (("HOOK", "--only", "cuMmAlloc_v2"),
      "gdbcuda: there is no case cuMmAlloc_v2; did you mean cuMemAlloc_v2?"),
     (("HOOK", "--allow", "nowhere"), "gdbcuda: cannot read nowhere: no such file; --accept FILE writes one"),
     ((), "gdbcuda: name the hook library, for example: gdbcuda conform ./libvgpu.so")],
)  # fmt: skip
def test_a_mistake_is_one_line(files: ConformFiles, shim: Path, words: tuple[str, ...], line: str) -> None:
    done = files.run(*(shim / "sample/minimal_hook.so" if word == "HOOK" else word for word in words))
    assert (done.returncode, done.stderr.splitlines()) == (2, [line])


# Each wrong sample over the groups: what of them says that it is wrong; "" for what a file says better (gdbcuda check).
WRONG = {
    "no_debug": "", "only_dlsym": "", "partial_suffix": "",
    "hidden": "start: no API function that a program asks for leads into it",
    "minus_one": "status/cuMemAlloc_v2: a large size: it returns what is not in CUresult",
    "next_trouble": "resolving/API names in other libraries: API functions are found in libc.so.6",
    "null_out": "transparent/cuMemAlloc_v2: out-value dptr is not written",
    "private_dl_sym": "start: a program does not begin with it",
    "recursing_dlsym": "start: a program does not begin with it",
    "version_ignored": "resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) gives another function "
                       "than the driver",
}  # fmt: skip


def test_every_wrong_sample_is_named(shim: Path) -> None:
    assert {path.stem for path in (shim / "sample" / "wrong").glob("*.so")} == WRONG.keys()


@pytest.mark.parametrize("name", [name for name, line in WRONG.items() if line])
def test_a_wrong_sample(files: ConformFiles, shim: Path, name: str) -> None:
    chosen = ["--only", "transparent", "--only", "status", "--only", "cuMemAdvise by *", "--only", "API names*"]
    assert WRONG[name] in files.broken(shim / "sample" / "wrong" / f"{name}.so", *chosen)
