"""A program that is not written in C: what we write for gdb is C all the same, and Rust's names are known."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

PROGRAM = """
#[link(name = "cuda")]
extern "C" {
    fn cuInit(flags: u32) -> i32;
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32) -> i32;
    fn cuCtxSetCurrent(context: usize) -> i32;
    fn cuMemAlloc_v2(block: *mut u64, bytesize: usize) -> i32;
}
struct Pool<T> { blocks: Vec<T> }
impl Pool<u64> {
    #[inline(never)]
    fn grow(&mut self, bytesize: usize) {
        let mut block = 0u64;
        unsafe { cuMemAlloc_v2(&mut block, bytesize) };
        self.blocks.push(block);
    }
}
fn main() {
    let mut context = 0usize;
    unsafe { cuInit(0); cuDevicePrimaryCtxRetain(&mut context, 0); cuCtxSetCurrent(context); }
    let mut pool = Pool::<u64> { blocks: vec![] };
    for bytesize in [1 << 20, 77, 3 << 30] { pool.grow(bytesize); }
}
"""
LANGUAGES = ["ada", "asm", "c", "c++", "d", "fortran", "go", "minimal", "modula-2", "objective-c", "opencl", "pascal",
             "rust"]  # fmt: skip
LINE = next(number for number, line in enumerate(PROGRAM.split("\n"), 1) if "unsafe { cuMemAlloc" in line)


@pytest.mark.parametrize("language", ["rust", "go", "pascal", "fortran", "ada", "c++"])
def test_conditions_are_read_as_they_are_written(local: Scenario, language: str) -> None:
    """gdb keeps the language that is current when a breakpoint is made; the user's is as it was."""
    text = local.run("test_alloc", f"set language {language}",
                     "cuda-break cuMemAlloc if bytesize > 1G && caller in app", "cuda-break cuMemAlloc --on error",
                     "RUN", "set language auto", "continue", "continue", f"set language {language}",
                     "show language")  # fmt: skip
    stops = re.findall(r"^Breakpoint (\d)  .*bytesize=(\d+)", text, re.MULTILINE)
    assert stops[:2] == [("1", str((1 << 30) + 1)), ("1", str(3 << 30))], text
    assert "Error in" not in text and f'current source language is "{language}"' in text


WRITTEN = (0, 5, 0x7FFFF7FAE740, (1 << 64) - 0x10000)
TRY_EACH = f"""
from gdbcuda.live import process
was = process.register("pc")
for language in {LANGUAGES}:
    gdb.execute(f"set language {{language}}")
    for value in {WRITTEN}:
        process.set_register("rcx", value)
        if process.register("rcx") != value:
            print("lost", language, value)
    process.set_register("pc", was + 1)
    moved = process.register("pc") - was
    process.set_register("pc", was)
    print("in", language, moved, process.register("pc") - was, process.register("xmm0") >= 0, process.signal_number())
"""


def test_registers_are_read_and_written_in_every_language(local: Scenario, tmp_path: Path) -> None:
    """= compares in some; in others 0x5 is no number, an address is too large for one, and . reads no field."""
    if platform.machine() != "x86_64":
        pytest.skip("the registers are x86-64's")
    (tmp_path / "each.py").write_text(TRY_EACH)
    text = local.run("test_alloc", "break main", "RUN", f"source {tmp_path}/each.py", hook=None)
    told = re.findall(r"^in (\S+) 1 0 True 5$", text, re.MULTILINE)
    assert told == LANGUAGES and "lost" not in text, text


def test_a_program_in_rust(scenario: Scenario, tmp_path: Path) -> None:
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    (tmp_path / "app.rs").write_text(PROGRAM)
    line = ["rustc", "-g", "-L", f"{scenario.shim}/standin", "-o", "app", "app.rs"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=120)
    whole = "app::Pool<u64>::grow"
    text = scenario.run(tmp_path / "app", "cuda-break cuMemAlloc if bytesize > 1G",
                        f"cuda-break cuMemAlloc --from {whole} if bytesize == 77", "cuda-log start cuMemAlloc", "RUN",
                        "continue", "cuda-memory who $rdi", "cuda-log show if caller in grow && bytesize == 77")
    stops = re.findall(r"^Breakpoint (\d)  .*bytesize=(\d+)", text, re.MULTILINE)
    assert stops == [("2", "77"), ("1", str(3 << 30))], text
    assert f"called by app {whole}() at app.rs:{LINE}, thread 1" in text
    assert re.search(rf"cuMemAlloc_v2\(.* bytesize=77\).*  by {whole} at app.rs:{LINE}$", text, re.MULTILINE), text
    assert "Error in" not in text


TRAIT = """
trait More { fn more(&mut self, bytesize: usize); }
impl More for Pool<u64> {
    #[inline(never)]
    fn more(&mut self, bytesize: usize) { let mut block = 0u64; unsafe { cuMemAlloc_v2(&mut block, bytesize) }; }
}
fn main() {
    let mut pool = Pool::<u64> { blocks: vec![] };
    unsafe { cuInit(0) };
    pool.more(88);"""


@pytest.mark.parametrize("mangling", [[], ["-C", "symbol-mangling-version=v0"]], ids=["its own", "v0"])
def test_a_part_of_a_name_in_rust(scenario: Scenario, tmp_path: Path, mangling: list[str]) -> None:
    """gdb finds the whole name alone. A stop names a method of a trait as nobody would type it, but copy it."""
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    (tmp_path / "app.rs").write_text(PROGRAM.replace("fn main() {", TRAIT))
    line = ["rustc", "-g", *mangling, "-L", f"{scenario.shim}/standin", "app.rs"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=120)
    callers = ("more", "app::{impl#1}::more", "Pool::grow", "grow", "Pool<u64>::grow")
    text = scenario.run(tmp_path / "app", *(f"cuda-break cuMemAlloc --from '{one}'" for one in callers),
                        "cuda-break grow if bytesize == 77", "cuda-break more", "RUN", *["continue"] * 3)  # fmt: skip
    stops = re.findall(r"^Breakpoint (\d)  .*bytesize=(\d+).*\n +called by app (.*)\(\) at app.rs", text, re.M)
    assert stops[:2] == [("1", "88", "app::{impl#1}::more"), ("3", str(1 << 20), "app::Pool<u64>::grow")], text
    assert "Breakpoint 6: app::Pool<u64>::grow in app app, if bytesize == 77" in text
    assert re.search(r"^Breakpoint 6, app::Pool<u64>::grow \(self=.*, bytesize=77\)", text, re.MULTILINE), text
    assert re.search(r"^Breakpoint 7, app::\{impl#1\}::more \(", text, re.MULTILINE), text
    assert "Error in" not in text and " failed: " not in text


FORTRAN = """
module pool
  use iso_c_binding
  interface
    integer(c_int) function cuMemAlloc(block, bytesize) bind(c, name="cuMemAlloc_v2")
      import
      integer(c_int64_t) :: block
      integer(c_size_t), value :: bytesize
    end function
  end interface
contains
  subroutine grow(bytesize)
    integer(c_size_t) :: bytesize
    integer(c_int64_t) :: block
    integer(c_int) :: status
    status = cuMemAlloc(block, bytesize)
  end subroutine
end module
program app
  use pool
  call grow(77_c_size_t)
end program
"""


@pytest.mark.parametrize("caller", ["grow", "pool::grow"])
def test_a_procedure_of_a_module_in_fortran(scenario: Scenario, tmp_path: Path, caller: str) -> None:
    """As a stop names it, and by its last name: the symbol is __pool_MOD_grow."""
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    (tmp_path / "app.f90").write_text(FORTRAN)
    line = ["gfortran", "-g", "-O0", "-o", "app", "app.f90", f"-L{scenario.shim}/standin", "-lcuda"]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=120)
    text = scenario.run(tmp_path / "app", f"cuda-break cuMemAlloc --from {caller}", f"cuda-break {caller}", "RUN",
                        "continue")  # fmt: skip
    assert re.search(r"^Breakpoint 1  .*bytesize=77\)\n +called by app pool::grow\(\) at app.f90", text, re.M), text
    assert re.search(r"^Breakpoint 2, pool::grow \(bytesize=77\)", text, re.MULTILINE), text


def test_our_functions_in_rust(scenario: Scenario, tmp_path: Path) -> None:
    """Its text is no char *, and unsigned long is no type of it."""
    if not shutil.which("rustc"):
        pytest.skip("rustc is not installed")
    (tmp_path / "app.rs").write_text(PROGRAM)
    subprocess.run(["rustc", "-g", "-L", f"{scenario.shim}/standin", "app.rs"], cwd=tmp_path, check=True, timeout=120)
    asked = ('print $_cuda_arg("bytesize")', 'print $_cuda_from("hook,app")', 'print $_cuda_from("driver")')
    text = scenario.run(tmp_path / "app", "cuda-break cuMemAlloc", "set language rust", "RUN", *asked)
    assert re.findall(r"^\$\d = (\w+)$", text, re.MULTILINE) == ["1048576", "true", "false"], text


RUST_HOOK = """
use std::ffi::{c_char, c_void};
extern "C" { fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void; }
#[no_mangle]
pub unsafe extern "C" fn cuMemAlloc_v2(dptr: *mut u64, bytesize: usize) -> i32 {
    let next = dlsym(-1isize as *mut c_void, b"cuMemAlloc_v2\\0".as_ptr() as *const c_char);
    if bytesize > 2 << 30 { return 2; }
    std::mem::transmute::<_, extern "C" fn(*mut u64, usize) -> i32>(next)(dptr, bytesize)
}
"""
NAMESPACE_HOOK = """
#include <dlfcn.h>
typedef int alloc(unsigned long long *, unsigned long);
namespace eng {
extern "C" int cuMemAlloc_v2(unsigned long long *block, unsigned long bytes)
{
    return bytes > 2ul << 30 ? 2 : ((alloc *)dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(block, bytes);
}
}
"""


@pytest.mark.parametrize(("compiler", "file", "source"), [
    (["g++", "-g", "-O0", "-shared", "-fPIC"], "hook.cc", NAMESPACE_HOOK),
    (["rustc", "-g", "--crate-type", "cdylib"], "hook.rs", RUST_HOOK)], ids=["namespace", "rust"])  # fmt: skip
def test_a_hook_that_debug_info_names_otherwise(
    scenario: Scenario, tmp_path: Path, compiler: list[str], file: str, source: str
) -> None:
    """eng::cuMemAlloc_v2 is cuMemAlloc_v2, where the library exports it so."""
    if not shutil.which(compiler[0]):
        pytest.skip(f"{compiler[0]} is not installed")
    (tmp_path / file).write_text(source)
    subprocess.run([*compiler, "-o", "libhook.so", file], cwd=tmp_path, check=True, timeout=120)
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", "RUN", "cuda-call", "delete 1",
                        "cuda-break cuMemAlloc --on error", "continue", hook=tmp_path / "libhook.so")  # fmt: skip
    assert "Breakpoint 1  hook libhook.so  cuMemAlloc_v2(dptr=0x" in text, text
    assert "cuMemAlloc_v2 in hook libhook.so, called by app allocate_buffer() at test_alloc.c:" in text
    assert re.search(r"bytesize=3221225472 \[3.00 GiB\]\) = CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to app", text)
    assert "is not an API function" not in text
