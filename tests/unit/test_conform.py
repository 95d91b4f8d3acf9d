"""gdbcuda conform: hook libraries that break one promise each, and what is said of them."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


@pytest.mark.parametrize("name", TRANSPARENT)
def test_what_is_not_passed_on(files: ConformFiles, name: str) -> None:
    text, expected = TRANSPARENT[name]
    found = files.broken(files.hook(name, text), "--only", "transparent")
    assert found == [f"transparent/{one}" for one in expected]


def test_our_own_hook_library_passes_everything_on(files: ConformFiles, shim: Path) -> None:
    report = files.data(shim / HOOK, "--only", "transparent")
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
    first, again, other = (files.data(hook, "--only", "transparent", "--seed", seed)["broken"]
                           for seed in ("3", "3", "4"))  # fmt: skip
    assert first == again and first != other


@pytest.mark.parametrize(
    "words, line",
    [(("nowhere.so",), "gdbcuda: nowhere.so: no such file or directory"),
     (("README.md",), "gdbcuda: README.md: is not an ELF file (begins with '# gdbcud')"),
     (("HOOK", "--only", "cuMmAlloc_v2"),
      "gdbcuda: --only: there is no case cuMmAlloc_v2; did you mean cuMemAlloc_v2?"),
     (("HOOK", "--allow", "nowhere"), "gdbcuda: cannot read nowhere: no such file; --accept FILE writes one"),
     ((), "gdbcuda: name the hook library, for example: gdbcuda conform ./libvgpu.so")],
)  # fmt: skip
def test_a_mistake_is_one_line(files: ConformFiles, shim: Path, words: tuple[str, ...], line: str) -> None:
    done = files.run(*(shim / "sample/minimal_hook.so" if word == "HOOK" else word for word in words))
    assert (done.returncode, done.stderr.splitlines()) == (2, [line])
