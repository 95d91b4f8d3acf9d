"""The samples: what they print on the stand-in, and how each hook library that is wrong on purpose shows."""

from __future__ import annotations

import ctypes
import signal
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from shim_support import HOOK, SHIM, Run

WRONG = sorted(path.stem for path in (SHIM / "sample" / "wrong").glob("*.c"))


def defined(path: Path, section: str) -> set[str]:
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(section)
        return {
            s.name for s in table.iter_symbols() if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["type"] == "STT_FUNC"
        }


def sections(path: Path) -> set[str]:
    with path.open("rb") as file:
        return {section.name for section in ELFFile(file).iter_sections()}


def wrong(name: str) -> str:
    return f"sample/wrong/{name}.so"


@pytest.mark.parametrize("program", ["test_alloc", "runtime_alloc"])
def test_alloc_programs(run: Run, program: str) -> None:
    done = run(program, GDBCUDA_STANDIN_MEMORY="16g")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "start      16384 MiB free of 16384 MiB",
        "64 MiB     allocated",
        "1 GiB + 1  allocated",
        "3 GiB      allocated",
        "allocated  12223 MiB free of 16384 MiB",
        "copied     the same came back",
        "freed      16384 MiB free of 16384 MiB",
    ]


def test_threads_make_exactly_the_calls_they_report(run: Run) -> None:
    lines = run("threads", "4", "300").stdout.splitlines()
    assert lines == run("threads", "4", "300").stdout.splitlines()
    for number, line in enumerate(lines):
        words = line.replace(",", "").split()
        assert words[:4] == ["thread", f"{number}:", "300", "calls:"]
        assert sum(int(count) for count in words[5:12:2]) == 300
    assert len({line.split()[-1] for line in lines}) == 4


def test_programs_have_no_runpath_and_debug_information(shim: Path) -> None:
    for program in (p for p in (shim / "sample").iterdir() if p.is_file() and p.suffix not in (".cubin", ".ini")):
        with program.open("rb") as file:
            elf = ELFFile(file)
            dynamic = elf.get_section_by_name(".dynamic")
            tags = {tag.entry.d_tag for tag in dynamic.iter_tags()} if dynamic else set()
        assert not tags & {"DT_RPATH", "DT_RUNPATH"}, program
        assert ".debug_info" in sections(program), program


def test_static_program_ignores_preload(run: Run, shim: Path) -> None:
    done = run("static_program", preload=[HOOK])
    assert done.stdout == "static program, LD_PRELOAD is set and ignored\n"
    assert ".interp" not in sections(shim / "sample" / "static_program")


def test_next_is_next_also_under_the_hook(run: Run) -> None:
    assert run("next_order", preload=[HOOK]).stdout == "liborder_a.so found liborder_b.so\n"
    assert run("next_order", preload=[wrong("only_dlsym")]).stdout == "liborder_a.so found itself\n"


def test_minimal_hook(run: Run) -> None:
    done = run("test_alloc", preload=["sample/minimal_hook.so"])
    assert "minimal_hook: cuMemAlloc_v2 of 1073741825 bytes" in done.stderr
    assert "1 GiB + 1  CUDA_ERROR_OUT_OF_MEMORY (2)" in done.stdout


# -- wrong on purpose ---------------------------------------------------------------------------------------


def test_each_wrong_library_says_what_is_wrong_and_how_it_shows() -> None:
    for name in WRONG:
        text = (SHIM / "sample" / "wrong" / f"{name}.c").read_text()
        assert text.startswith("/* WRONG: "), name
        assert "\n   Shows: " in text, name


def test_only_dlsym(run: Run, shim: Path) -> None:
    assert defined(shim / wrong("only_dlsym"), ".dynsym") == {"dlsym"}
    assert not sections(shim / wrong("only_dlsym")) & {".symtab", ".debug_info"}
    assert run("test_alloc", preload=[wrong("only_dlsym")]).stderr == ""
    reached = run("dlsym_alloc", preload=[wrong("only_dlsym")])
    assert "only_dlsym: cuMemAlloc_v2 of 1073741825 bytes" in reached.stderr
    assert "local, handle         1 GiB + 1: CUresult 2" in reached.stdout


def test_hidden(run: Run, shim: Path) -> None:
    functions = {"cuMemAlloc_v2", "cuMemFree_v2"}
    assert functions <= defined(shim / wrong("hidden"), ".symtab")
    assert not functions & defined(shim / wrong("hidden"), ".dynsym")
    done = run("test_alloc", preload=[wrong("hidden")])
    assert (done.returncode, done.stderr) == (0, "")


def test_no_debug(run: Run, shim: Path) -> None:
    assert ".debug_info" not in sections(shim / wrong("no_debug"))
    assert "no_debug: cuMemAlloc_v2" in run("test_alloc", preload=[wrong("no_debug")]).stderr


def test_private_dl_sym(run: Run) -> None:
    if hasattr(ctypes.CDLL("libc.so.6"), "_dl_sym"):
        pytest.skip("this libc still has _dl_sym (before 2.34)")
    done = run("dlsym_alloc", preload=[wrong("private_dl_sym")])
    assert done.returncode == 127
    assert "symbol lookup error" in done.stderr
    assert "undefined symbol: _dl_sym" in done.stderr


def test_recursing_dlsym(run: Run) -> None:
    assert run("dlsym_alloc", preload=[wrong("recursing_dlsym")]).returncode == -signal.SIGSEGV


def test_minus_one(run: Run) -> None:
    assert "1 GiB + 1  not a CUresult (-1)" in run("test_alloc", preload=[wrong("minus_one")]).stdout


def test_null_out(run: Run) -> None:
    done = run("test_alloc", preload=[wrong("null_out")])
    assert done.returncode == 2
    assert "64 MiB     allocated" in done.stdout
    assert done.stdout.endswith("cuMemcpyHtoD: CUDA_ERROR_INVALID_VALUE (1)\n")


def test_version_ignored(run: Run) -> None:
    request = "cuMemAdvise 8000 0\n"
    assert ", cuMemAdvise@" in run("proc_address", stdin=request).stdout
    assert ", cuMemAdvise_v2@" in run("proc_address", stdin=request, preload=[wrong("version_ignored")]).stdout


def test_partial_suffix(run: Run) -> None:
    lines = run("stream_alloc", preload=[wrong("partial_suffix")]).stdout.splitlines()
    assert lines == [
        "cuMemAllocAsync        CUDA_ERROR_OUT_OF_MEMORY (2)",
        "cuMemAllocAsync_ptsz   allocated 1 GiB + 1",
    ]


def test_next_trouble(run: Run) -> None:
    assert run("test_alloc", preload=[wrong("next_trouble")]).returncode == 0
    assert run("dlsym_alloc", preload=[wrong("next_trouble")]).returncode == -signal.SIGSEGV


def test_all_wrong_libraries_are_built(shim: Path) -> None:
    built = {path.stem for path in (shim / "sample" / "wrong").glob("*.so")}
    assert built == set(WRONG)
