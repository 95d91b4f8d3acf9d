"""The findings of a process, by what its objects are and what is known beside them: one row a case, as the user reads
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from routes_process import RouteProcess

from gdbcuda.check import loaded, several_copies
from gdbcuda.check.finding import Finding
from gdbcuda.check.loaded import Facts

HOOK = "/opt/libhook.so"
AT = re.compile(r" at 0x[\da-f]+")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("loaded"))
    yield found
    found.close()


def lines(found: Iterable[Finding]) -> list[str]:
    return [AT.sub(" at N", f"{one.severity} {one.id}: " + " | ".join(filter(None, (
        one.seen, one.means, one.do, one.verdict)))) for one in found]  # fmt: skip


GONE = "error {}: libgone.so is not in this process; {} | no call reaches it | {} | the hook is inert"
AGAIN = "start it through cuda-load, which leaves the rest of the environment alone"
DEEP = ("error deepbind: libprogram.so is bound past the hook: cuDeviceGet | it was loaded with RTLD_DEEPBIND: its own "
        "libraries come first for it | let it be loaded without RTLD_DEEPBIND | libprogram.so goes past the hook")
BEHIND = ("warning hook-not-first: libhook.so is mapped at N, in the search order behind {} | what those define too is "
          "theirs | name it first in LD_PRELOAD")
RUNTIMES = "note second-runtime: libruntime.so is loaded 2 times: /opt/libruntime.so, /opt/libruntime.so | "
BY_HANDLE = "; others answer only who asks by their handle"
ACTIVE = "note hook-active: libhook.so is mapped at N, first in the search order, initialised | it is searched first"


@pytest.mark.parametrize(("facts", "expected"), [
    (Facts(), "note not-started: ld.so has not mapped anything yet | nothing can be said so far | go on to main:  "
              "tbreak main, then run (or continue, where a gdbserver has started it) | the program has not begun"),
    (Facts(is_static=True), "error static-program: the program has no dynamic loader (AT_BASE is 0) | LD_PRELOAD is "
     "ignored, no hook library can be reached | link the program dynamically | the hook is inert"),
])  # fmt: skip
def test_without_a_loader(facts: Facts, expected: str) -> None:
    assert lines(loaded.without_loader(facts)) == [expected]


@pytest.mark.parametrize(("more", "id", "why", "do"), [
    ({}, "hook-not-mapped", "nothing in the process tells why", AGAIN),
    ({"preload": ""}, "preload-lost", "LD_PRELOAD of this process does not name it: it was started with a cleaned "
     "environment, as the child of one that had it, or before cuda-load",
     f"hand LD_PRELOAD on where the process is started, or {AGAIN}"),
    ({"preload": "/opt/libgone.so"}, "preload-failed", "LD_PRELOAD names it, and ld.so did not load it: no such file "
     "there, another machine's, or a library that it needs is missing; ld.so has said so on stderr",
     "cuda-check /opt/libgone.so"),
    ({"preload": "", "is_secure": True}, "secure-execution", "the program runs setuid, setgid or with capabilities "
     "(AT_SECURE is 1): ld.so takes a preload from its trusted directories only",
     "run it as the user that it changes to, or name the library in /etc/ld.so.preload"),
])  # fmt: skip
def test_why_it_is_not_there(process: RouteProcess, more: dict[str, Any], id: str, why: str, do: str) -> None:
    facts = Facts(named_hooks=("/opt/libgone.so",), **more)
    assert lines(loaded.findings(process.snapshot("program", "driver"), facts)) == [GONE.format(id, why, do)]


@pytest.mark.parametrize(("order", "more", "expected"), [
    ("program hook driver", {}, [ACTIVE]),
    ("program hook driver", {"initialised": True, "named_hooks": (HOOK,)}, [ACTIVE]),
    ("program hook driver", {"initialised": False}, [
        "note hook-not-initialised: libhook.so is mapped at N, first in the search order; its constructors have not "
        "all run | ld.so is still at work: tables that a constructor fills may be empty | go on to main"]),
    ("program driver hook", {}, [
        "error hook-dlopened: libhook.so came with dlopen, behind the objects of the start | functions called by name "
        "are never looked for in it | preload it: cuda-load /opt/libhook.so | the hook is inert for calls by name"]),
    ("needs_hook driver hook", {}, [
        BEHIND.format("libdriver.so")]),
    ("program second hook driver", {}, [
        ACTIVE.replace("libhook", "libsecond"),
        "note hook-active: libhook.so is mapped at N, behind libsecond.so, initialised | it is searched after these "
        "hook libraries", DEEP]),
    ("program second hook driver", {"named_hooks": (HOOK,)}, [
        BEHIND.format("libsecond.so"), DEEP]),
    ("program hook driver", {"debugger_maps": ("/lib/libc.so.6", HOOK)}, [
        ACTIVE, "warning hook-in-debugger: libhook.so is mapped in the debugger itself | LD_PRELOAD was exported "
        "before gdb was started: gdb and its helpers run with the hook too | unset LD_PRELOAD in the shell, and name "
        "the library with cuda-load"]),
    ("program hook hook driver", {"named_hooks": (HOOK,)}, [
        ACTIVE, "error hook-mapped-twice: /opt/libhook.so at N, /opt/libhook.so at N | two copies with their own state "
        "each: what one counts the other does not see | preload exactly the file that others name in DT_NEEDED or "
        "dlopen"]),
    ("program hook driver symbolic", {}, [
        ACTIVE, "warning symbolic: libsymbolic.so is linked with -Bsymbolic and defines cuInit | its own calls of "
        "these never leave it | link it without -Bsymbolic"]),
    ("program upper driver runtime", {"static_runtime": True}, [
        ACTIVE.replace("libhook", "libupper"),
        "warning static-runtime: libprogram.so contains the CUDA runtime | the hook's cuda... functions are never "
        "reached; its driver functions are | hook the driver, or build the program with --cudart shared"]),
    ("program hook driver", {"static_runtime": True}, [ACTIVE]),
    ("program hook driver driver", {}, [
        ACTIVE, "error second-driver: libdriver.so is loaded 2 times: /opt/libdriver.so, /opt/libdriver.so | the hook "
        "hands on to one of them | let all find the same file"]),
    ("program hook driver runtime runtime", {}, [ACTIVE, RUNTIMES + "nothing refers to it by name" + BY_HANDLE]),
    ("program hook driver allocates runtime runtime", {}, [
        ACTIVE, RUNTIMES + "what refers to it is bound to /opt/libruntime.so" + BY_HANDLE]),
    ("program upper driver runtime runtime", {}, [
        ACTIVE.replace("libhook", "libupper"),
        RUNTIMES + "the hook answers what refers to it, and hands on to one of them" + BY_HANDLE]),
    ("program hook driver", {"namespaces": ((("/n/libc.so.6", "system"),), (("/n/libcuda.so.1", "driver"),))}, [
        ACTIVE, "error namespace: namespace 2 (dlmopen) has libcuda.so.1, and no hook library | calls from there never "
        "see what LD_PRELOAD named | load it with dlopen | a dlmopen namespace goes past the hook"]),
    ("program hook driver", {"namespaces": ((("/n/libcuda.so.1", "driver"), (HOOK, "hook")),)}, [ACTIVE]),
    ("program hook driver", {"lacking": ("libx.so is not here",)}, [
        ACTIVE, "warning contents-missing: libx.so is not here | its functions are not known here, nor what it refers "
        "to | say where the right file is (set solib-search-path DIR, or set sysroot), and open the core file again"]),
])  # fmt: skip
def test_what_is_loaded(process: RouteProcess, order: str, more: dict[str, Any], expected: list[str]) -> None:
    found = lines(loaded.findings(process.snapshot(*order.split()), Facts(**more)))
    assert found == expected


@pytest.mark.parametrize("path", ["/opt", "/some/where:/opt/here/.."])
def test_whose_run_path_leads_to_one_of_two_drivers(process: RouteProcess, path: str) -> None:
    """Others have nothing to do with it."""
    program = process.of["program"].dynamic
    kept = program.run_path
    try:
        program.__dict__["run_path"] = ("DT_RUNPATH", path)
        found = lines(loaded.findings(process.snapshot("program", "hook", "driver", "driver"), Facts()))
    finally:
        program.__dict__["run_path"] = kept
    assert f"hands on to one of them; libprogram.so has DT_RUNPATH {path} | let all" in found[1]
    assert several_copies.searched("/opt/libx.so", "$ORIGIN/lib:${ORIGIN}/..:") == ["/opt/lib", "/"]
