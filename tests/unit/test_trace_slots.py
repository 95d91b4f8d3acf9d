"""gdbcuda trace of what is compiled with -fno-plt, as conda-forge's compilers and Rust do, or takes addresses of
functions: calls go through a slot that the loader fills without asking anybody."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Callable

import pytest
from shim_support import OLDER_LIBC
from traced_programs import HERE, Trace, needs_recorder, trace

__all__ = ["trace"]  # a fixture
pytestmark = needs_recorder
Built = Callable[..., Path]
PLUGIN = """
int cuDeviceGet(int *device, int ordinal);
int ask(int count) { int device; for (int i = 0; i < count; i++) cuDeviceGet(&device, i % 2); return 0; }
"""
LOADS = """
#include <dlfcn.h>
int main(int count, char **words) {
    void *plugin = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : 0;
    int (*ask)(int) = plugin ? (int (*)(int))dlsym(plugin, "ask") : 0;
    int (*by_name)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuInit");
    return by_name(0) || (ask && ask(7)) || (plugin && dlclose(plugin));
}
"""
REGISTERS = """
int cuDeviceGet(int *device, int ordinal);
extern void (*registered)(int);
static void ask(int count) { int device; for (int i = 0; i < count; i++) cuDeviceGet(&device, 0); }
__attribute__((constructor)) static void begin(void) { registered = ask; }
"""
OPENS_ANOTHER = """
#include <dlfcn.h>
int cuInit(unsigned flags);
void (*registered)(int);
int main(int count, char **words) {
    if (count < 3 || cuInit(0) || !dlopen(words[1], RTLD_NOW))
        return 1;
    registered(2);
    void *other = dlopen(words[2], RTLD_NOW);
    registered(5);
    return !other;
}
"""
ADDRESS_TAKEN = """
#include <stdio.h>
#include <string.h>
int cuInit(unsigned flags), cuDeviceGet(int *device, int ordinal);
int (*volatile taken)(int *, int) = cuDeviceGet;
extern const char _GLOBAL_OFFSET_TABLE_[];
int main(void) {
    char line[512];
    int device, (*init)(unsigned) = cuInit;
    unsigned long begin, end, slots = (unsigned long)_GLOBAL_OFFSET_TABLE_;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= slots && slots < end)
            printf("%.4s\\n", strchr(line, ' ') + 1);
    return init(0) || taken(&device, 0);
}
"""
TABLE = """
int cuInit(unsigned flags), cuDeviceGet(int *device, int ordinal), cuDeviceGetCount(int *count);
static int own(unsigned flags) { return flags != 0; }
static struct { const char *name; int (*call)(unsigned); } table[] = {{"own", own}, {"cuInit", cuInit}};
static int (*const constant[])(int *, int) = {cuDeviceGet};
static char *behind = (char *)cuDeviceGetCount + 1; /* no function */
int main(void) {
    int device;
    for (volatile int i = 0; i < 2; i++)
        if (table[i].call(0))
            return 1;
    return cuInit(0) || (*(int (*const volatile *)(int *, int))constant)(&device, 0) || !*(char *volatile *)&behind;
}
"""
ASKS_FOR_ITS_CALLER = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int cuDeviceGet(int *device, int ordinal) {
    Dl_info caller;
    int known = dladdr(__builtin_return_address(0), &caller);
    puts(known ? strrchr(caller.dli_fname, '/') + 1 : "nobody");
    return *device = ordinal;
}
"""
CHANGES_ITS_TABLE = """
int cuDeviceGet(int *device, int ordinal), cuDeviceGetCount(int *count);
static int nothing(int *count) { return *count = 0; }
int (*kept)(int *, int) = cuDeviceGet, (*changed)(int *) = cuDeviceGetCount;
__attribute__((constructor)) static void change(void) { changed = nothing; }
int ask(int count) {
    int device;
    for (int i = 0; i < count; i++)
        if (kept(&device, 0) || changed(&device) || device)
            return 1;
    return 0;
}
"""
NO_WRITING = """
import ctypes, os, struct, sys
refused = (0x15, 0, 3, 18), (0x20, 0, 0, 32), (0x15, 0, 1, 8), (6, 0, 0, 0x50001)  # pwrite64 of 8 bytes
steps = (0x20, 0, 0, 0), *refused, (6, 0, 0, 0x7FFF0000)
program = b"".join(struct.pack("<HBBI", *one) for one in steps)
text = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, struct.pack("<HxxxxxxQ", 6, ctypes.addressof(text)), 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def built(shim: Path, tmp_path: Path) -> Built:
    def build(source: str | Path, *flags: str, name: str = "program") -> Path:
        made, file = tmp_path / name, tmp_path / f"{name}.c"
        file.write_text(source if isinstance(source, str) else source.read_text())
        line = ["gcc", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", "-pthread", *flags, "-o", made, file]
        subprocess.run([*line, f"-L{shim}/standin", "-lcuda", "-ldl", *OLDER_LIBC], check=True)
        return made

    return build


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-fno-pic"), ("-Wl,-z,norelro",)])
@pytest.mark.parametrize("what", ["threads", "fork"])
def test_every_call_of_a_program_without_a_plt(trace: Trace, built: Built, what: str, flags: tuple[str, ...]) -> None:
    found = trace(built(HERE / "traced.c", "-fno-plt", *flags), what, "5")
    assert (found.done.returncode, found.done.stderr) == (0, "")
    asked = {"threads": 10 + sum(range(5, 10)), "fork": 10 + 5 + 6 + 7}
    assert Counter(call["name"] for call in found.calls()) == {"cuInit": 1, "cuDeviceGet": asked[what]}


def test_a_library_that_comes_later(trace: Trace, built: Built) -> None:
    """Its slots are led to the recorder when somebody asks for its functions; and dlsym is asked through one, too."""
    plugin = built(PLUGIN, "-fno-plt", "-shared", "-fPIC", name="plugin.so")
    found = trace(built(LOADS, "-fno-plt"), str(plugin))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 7}
    assert {Path(call["caller"]["object"]).name for call in found.calls()} == {"program", "plugin.so"}


def test_a_library_that_nobody_asks(trace: Trace, built: Built) -> None:
    """Its slots are led to the recorder when the next one is opened."""
    plugin = built(REGISTERS, "-fno-plt", "-shared", "-fPIC", name="plugin.so")
    other = built("int other(void) { return 1; }", "-shared", "-fPIC", name="other.so")
    found = trace(built(OPENS_ANOTHER, "-rdynamic"), str(plugin), str(other))
    assert (found.done.returncode, found.counts()) == (0, {"cuInit": 1, "cuDeviceGet": 5})


@pytest.mark.parametrize("relro", [("-Wl,-z,now",), ("-Wl,-z,norelro",)])
def test_what_was_read_only_stays_so(trace: Trace, built: Built, shim: Path, relro: tuple[str, ...]) -> None:
    program = built(ADDRESS_TAKEN, *relro)
    alone = subprocess.run([program], env={"LD_LIBRARY_PATH": f"{shim}/standin"}, capture_output=True, text=True)
    found = trace(program)
    assert (found.done.returncode, found.done.stdout) == (0, alone.stdout)
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 1}


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-fno-pic"), ("-Wl,-z,norelro",)])
def test_addresses_in_the_initial_values_of_variables(trace: Trace, built: Built, flags: tuple[str, ...]) -> None:
    found = trace(built(TABLE, *flags))
    assert (found.done.returncode, found.counts()) == (0, {"cuInit": 2, "cuDeviceGet": 1})


def test_what_a_constructor_has_put_into_a_variable_stays(trace: Trace, built: Built) -> None:
    plugin = built(CHANGES_ITS_TABLE, "-shared", "-fPIC", name="plugin.so")
    found = trace(built(LOADS), str(plugin))
    assert (found.done.returncode, found.counts()) == (0, {"cuInit": 1, "cuDeviceGet": 7})


@pytest.mark.parametrize("options", [(), ("--filter", "ordinal == 0")])
def test_a_hook_that_asks_for_its_caller(trace: Trace, built: Built, options: tuple[str, ...]) -> None:
    """It sees who calls it: the recorder, and not another function that is recorded."""
    hook = built(ASKS_FOR_ITS_CALLER, "-fno-plt", "-shared", "-fPIC", name="libhook.so")
    found = trace(built(TABLE, "-fno-plt"), options=(*options, "--hook", str(hook)))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert found.done.stdout == "libgdbcuda-trace.so\n" and found.counts()["cuDeviceGet"] >= 1


def test_where_nobody_may_write_that_is_said(trace: Trace, built: Built) -> None:
    plugin = built(PLUGIN, "-fno-plt", "-shared", "-fPIC", name="plugin.so")
    found = trace(sys.executable, "-c", NO_WRITING, str(built(LOADS)), str(plugin))
    assert found.done.returncode == 0 and found.counts() == {"cuInit": 1}
    assert "plugin.so was compiled with -fno-plt, or takes addresses of functions" in found.log("summary").stderr
