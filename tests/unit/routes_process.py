"""A process for tests of routes: small libraries in this Python, in the order and the layers that a test says.

The first of an order stands for the program; what it needs and what is before that was there at its start."""

from __future__ import annotations

import _ctypes
import ctypes
import os
from pathlib import Path
from typing import Any

from elf_build import compiled
from process_memory import ProcessMemory
from test_linkage import named, own_objects

from gdbcuda import api
from gdbcuda.linkage import Linkage, Linkages
from gdbcuda.routes.collect import Route
from gdbcuda.routes.requests import Asker
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict

DRIVER = """
int cuInit(unsigned f) { return f; } int cuDeviceGet(int *d, int n) { return *d = n; }
int cuMemAlloc_v2(void) { return 1; } int cuMemFree_v2(void) { return 2; } int helper(void) { return 3; }
"""
PROGRAM = """
int cuInit(unsigned), cuDeviceGet(int *, int); extern int cuDriverGetVersion(int *) __attribute__((weak));
int (*volatile kept)(int *, int); static int (*volatile same)(int *, int);
int ask(void) { kept = cuDeviceGet; same = cuDeviceGet; return cuInit(7) + (cuDriverGetVersion ? 100 : 0); }
"""
HOOK = """
int cuInit(unsigned f) { return f + 1; } int cuMemAlloc(void) { return 4; }
void *dlsym(void *h, const char *n) { return n[0] ? h : 0; } int own(void) { return cuInit(3); }
"""
ASKS = 'void *dlsym(void *, const char *); void *ask(void) { return dlsym(0, "cuInit"); }'
NEEDS_DRIVER, LAZY = ("-L.", "-l:libdriver.so"), "-Wl,-z,lazy"
LIBRARIES: dict[str, tuple[str, str, tuple[str, ...]]] = {  # layer, source, flags
    "driver": ("driver", DRIVER, ()),
    "versions": ("driver", "int cuInit(unsigned f) { return f; }", ("-Wl,--version-script=DRIVER_1",)),
    "runtime": ("runtime", "int cudaMalloc(void) { return 5; }", ()),
    "hook": ("hook", HOOK, (LAZY,)),
    "program": ("app", PROGRAM, (*NEEDS_DRIVER, LAZY)),
    "asks_versions": ("app", "int cuInit(unsigned); int ask(void) { return cuInit(1); }",
                      ("-L.", "-l:libversions.so", LAZY)),
    "needs_hook": ("app", PROGRAM, ("-Wl,--no-as-needed", *NEEDS_DRIVER, "-l:libhook.so", LAZY)),
    "symbolic": ("app", "int cuInit(unsigned f) { return f; } int ask(void) { return cuInit(1); }",
                 ("-Wl,-Bsymbolic", LAZY)),
    "second": ("hook", "int cuInit(unsigned f) { return f; } int cuDeviceGet(int *d, int n) { return *d = n; }", ()),
    "scripted": ("hook", "int cuInit(unsigned f) { return f; }", ("-Wl,--version-script=HOOK_1",)),
    "upper": ("hook", "int cudaFree(void) { return 6; } int cuInit(unsigned f) { return f; }", ()),
    "resolver": ("hook", "void *dlsym(void *h, const char *n) { return n[0] ? h : 0; }", ()),
    "full": ("hook", "int cuInit(unsigned f) { return f; } int cuGetProcAddress_v2(void) { return 0; }\n"
                     "void *dlsym(void *h, const char *n) { return n[0] ? h : 0; }", ()),
    "empty": ("hook", "int nothing_of_the_api(void) { return 7; }", ()),
    "other": ("system", "int cuInit(unsigned f) { return f; }", ()),
    "indirect": ("system", "static int is(void) { return 7; } static void *pick(void) { return (void *)is; }\n"
                           "int helper(void) __attribute__((ifunc(\"pick\")));", ()),
    "patches": ("app", "int mprotect(void *, unsigned long, int); int cuInit_of_ours(unsigned f) { return f + 8; }\n"
                       "int patch(void) { return mprotect(0, 0, 0); }", ()),
    "python": ("app", "int mprotect(void *, unsigned long, int); char _PyRuntime[8];\n"
                      "int own_code(void) { return mprotect(0, 0, 0); }", ()),
    "asks": ("app", ASKS, (LAZY,)),
    "allocates": ("app", "int cudaMalloc(void); int allocate(void) { return cudaMalloc(); }",
                  ("-L.", "-l:libruntime.so", LAZY)),
    "system_asks": ("system", ASKS, (LAZY,)),
}  # fmt: skip


class RouteProcess:
    """The libraries, loaded as long as the tests of one file run."""

    def __init__(self, folder: Path) -> None:
        for script in ("DRIVER_1", "HOOK_1"):
            (folder / script).write_text(f"{script} {{ global: *; }};")
        paths = {name: compiled(folder, source, *flags, f"-Wl,-rpath,{folder}", name=f"lib{name}.so")
                 for name, (_, source, flags) in LIBRARIES.items()}  # fmt: skip
        self.loaded = {name: ctypes.CDLL(str(path), mode=os.RTLD_LAZY) for name, path in paths.items()}
        objects = own_objects()
        self.of = {name: named(objects, str(path)) for name, path in paths.items()}

    def close(self) -> None:
        for library in self.loaded.values():
            _ctypes.dlclose(library._handle)

    def snapshot(self, *order: str, **more: Any) -> ProcessSnapshot:
        objects = Linkages([self.of[name] for name in order])
        return ProcessSnapshot(objects, ProcessMemory(), api.load(cuda="13.0"), layer_of, file=file_of, **more)

    def address(self, library: str, name: str) -> int:
        return self.of[library].symbols.find(name)[0].address

    def reached(self, library: str, *names: str) -> Reached:
        """As the snapshot would tell it of the first of the names."""
        linkage = self.of[library]
        address = self.address(library, names[0]) if linkage.symbols.find(names[0]) else linkage.image.base
        return Reached(address, names, file_of(linkage), layer_of(linkage), address - linkage.image.base)

    def asker(self, library: str) -> Asker:
        linkage = self.of[library]
        return Asker(linkage.image.segments[0][0], 0, "", file_of(linkage), layer_of(linkage))


def short(linkage: Linkage) -> str:
    return os.path.basename(linkage.image.name)[3:-3]


def layer_of(linkage: Linkage) -> str:
    return LIBRARIES[short(linkage)][0]


def file_of(linkage: Linkage) -> str:
    return f"/opt/{os.path.basename(linkage.image.name)}"


def plain(text: str, role: str) -> str:
    return text


def marked(text: str, role: str) -> str:
    """So that a test sees the colours."""
    return f"<{role}>{text}"


def rows(table: str) -> list[list[str]]:
    """The cells of a table, two spaces or more apart; without the line under the headers."""
    lines = [line for line in table.splitlines() if set(line) - set("- ")]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def route(function: str, layer: str = "app", word: str = "driver", there: str | None = "driver", way: str = "PLT",
          asker: str = "/bin/p") -> Route:  # fmt: skip
    reached = None if there is None else Reached(4096, (function,), f"/lib/{there}.so", there)
    return Route(function, way, asker, layer, "", reached, Verdict(word))
