"""gdbcuda trace of programs that allow few system calls from some moment on: none is one of the recorder's."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest
from traced_programs import HERE, Trace, needs_recorder, trace

__all__ = ["trace"]  # a fixture
pytestmark = needs_recorder
Make = Callable[..., Path]
DRIVER = """
int cuInit(unsigned flags) { return (int)(flags & 0); }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuMemAlloc_v2(unsigned long *block, unsigned long size) { *block = size; return 0; }
"""
MISSED = "a call that was made by a thread that could not note it, for the program had confined itself"
PAST_LIBC = "makes system calls past libc, by one of which the program may confine itself"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Over a driver that makes no system call of its own."""
    source = tmp_path / "driver.c"
    source.write_text(DRIVER)
    driver = tmp_path / "libcuda.so.1"
    compiler = ["gcc", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread"]
    subprocess.run([*compiler, "-shared", "-fPIC", f"-Wl,-soname,{driver.name}", "-o", driver, source], check=True)

    def make_one(name: str, *flags: str) -> Path:
        made = tmp_path / name
        first = f"-Wl,--disable-new-dtags,-rpath,{tmp_path}"  # DT_RPATH goes before LD_LIBRARY_PATH: ld.so(8)
        line = [*compiler, "-o", made, HERE / "sandboxed.c", *flags, driver, first, "-ldl"]
        subprocess.run(line, check=True)
        return made

    return make_one


@pytest.mark.parametrize("when", ["", "before"])
@pytest.mark.parametrize("binding", ["lazy", "now"])
@pytest.mark.parametrize("past_libc", [
    (), ("-DPAST_LIBC",), ("-DPAST_LIBC", "-O2", "-s"), ("-DPAST_LIBC", "-no-pie"), ("-fno-plt",)
])
def test_a_program_that_confines_itself(
    trace: Trace, make: Make, past_libc: tuple[str, ...], binding: str, when: str
) -> None:
    found = trace(make("program", *past_libc, f"-Wl,-z,{binding}"), when)
    assert (found.done.returncode, found.done.stdout) == (0, "done\n")
    if not past_libc and binding == "lazy" and not when:
        return  # nothing was recorded in front of it
    counts = found.counts()
    assert (counts["cuInit"], counts["cuDeviceGet"], counts["cuMemAlloc_v2"]) == (int(bool(when)), 100, 1)
    assert (PAST_LIBC in found.log("show").stderr) == ("-DPAST_LIBC" in past_libc)


def test_bytes_of_data_are_no_system_call(trace: Trace, make: Make, tmp_path: Path) -> None:
    """Tables of numbers lie beside the code where a linker makes one segment of both, as in many published wheels."""
    (tmp_path / "table.c").write_text("""
__attribute__((used)) const unsigned char table[] = {2, 0x24, 0x42, 0xc3, 0x0f, 0x05, 0xb8, 0xff, 0xfe, 0x3f, 1, 1};
""")
    found = trace(make("program", str(tmp_path / "table.c"), "-Wl,-z,noseparate-code"), "before")
    assert (found.done.returncode, found.counts()["cuMemAlloc_v2"]) == (0, 1)
    assert PAST_LIBC not in found.log("show").stderr


def test_by_a_library_that_comes_later(trace: Trace, make: Make) -> None:
    plugin = make("plugin.so", "-DPAST_LIBC", "-DPLUGIN", "-shared", "-fPIC")
    found = trace(make("program"), str(plugin), "plugin", "before")
    assert (found.done.returncode, found.done.stdout) == (0, "done\n")
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 100, "cuMemAlloc_v2": 1}
    assert f"plugin.so {PAST_LIBC}" in found.log("show").stderr


@pytest.mark.parametrize("past_libc", [(), ("-DPAST_LIBC",)])
def test_threads_and_children_that_had_made_no_call(trace: Trace, make: Make, past_libc: tuple[str, ...]) -> None:
    found = trace(make("program", *past_libc), "before", "thread")
    assert (found.done.returncode, found.done.stdout) == (0, "done\n")
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 100, "cuMemAlloc_v2": 1}
    assert f"5 x {MISSED}" in found.log("show").stderr


def test_strict_mode_takes_the_clock_away_as_well(trace: Trace, make: Make) -> None:
    found = trace(make("program"), "before", "strict")
    assert (found.done.returncode, found.done.stdout) == (0, "done\n")
    assert found.counts() == {"cuInit": 1}
    assert f"101 x {MISSED}" in found.log("show").stderr


@pytest.mark.parametrize("past_libc", [(), ("-DPAST_LIBC",)])
def test_a_forked_child(trace: Trace, make: Make, past_libc: tuple[str, ...]) -> None:
    """It writes nothing into its parent's file."""
    found = trace(make("program", *past_libc, "-Wl,-z,lazy"), "before", "fork")
    assert found.done.returncode == 7 and found.done.stdout == "done\ndone\n"
    counts = found.counts()
    said = found.log("show").stderr
    assert counts["cuInit"] == 1 and counts["cuMemAlloc_v2"] in (1, 2) and "name is not" not in said
    assert MISSED not in said
