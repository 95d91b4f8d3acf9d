"""Requests by name in a process with objects: whose answer was it, whose should it have been, and why none came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from routes_process import RouteProcess, marked, plain, rows

from gdbcuda.linkage.slots import slot_values
from gdbcuda.routes import collect, judge, right_object
from gdbcuda.routes.reports import resolvers
from gdbcuda.routes.requests import Asker, Request
from gdbcuda.routes.shapes import RTLD_DEFAULT, RTLD_NEXT
from gdbcuda.routes.snapshot import Reached

NOWHERE = Asker(0x10)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("routes"))
    yield found
    found.close()


def handle(process: RouteProcess, word: str) -> int:
    """"next", "default", a library, or a number that is no handle."""
    known = {"next": RTLD_NEXT, "default": RTLD_DEFAULT, "unknown": 0x77}
    return known[word] if word in known else process.of[word].image.handle


def request(process: RouteProcess, asker: str, where: str, name: str, answer: str = "", **more: Any) -> Request:
    """dlsym of the hook library, asked for the name in a place; answered by a function of the library ``answer``."""
    owner = more.pop("owner", "/opt/libhook.so")
    who = process.asker(asker) if asker else NOWHERE
    texts = {"next": "RTLD_NEXT", "default": "RTLD_DEFAULT"}
    found = Request(more.pop("resolver", "dlsym"), owner, more.pop("owner_layer", "hook"), who, 1, 0x900, name=name,
                    handle=handle(process, where), handle_text=texts.get(where, f"lib{where}.so"), **more)  # fmt: skip
    found.returned = True
    found.answer = process.reached(answer, name) if answer else None
    return found


@pytest.mark.parametrize(("order", "asker", "where", "name", "answer", "expected"), [
    ("program hook driver", "program", "default", "cuInit", "hook", ("hooked", "")),
    ("program hook driver", "program", "driver", "cuInit", "hook", ("hooked", "")),
    ("program hook driver", "program", "driver", "cuInit", "driver",
     ("driver", "libhook.so's dlsym let it through, though it has cuInit")),
    ("program hook driver", "program", "driver", "cuMemFree_v2", "driver",
     ("driver", "libhook.so's dlsym let it through")),
    ("program hook driver", "hook", "next", "cuInit", "driver", ("real", "")),
    ("program hook driver", "hook", "next", "cuInit", "hook",
     ("wrong object", "the hook asked RTLD_NEXT and was given its own function: calling that recurses")),
    ("program hook driver", "hook", "driver", "cuInit", "hook",
     ("wrong object", "the hook asked libdriver.so and was given its own function: calling that recurses")),
    ("program hook driver", "hook", "hook", "cuInit", "hook", ("hooked", "")),
    ("program hook driver", "program", "other", "cuInit", "driver",
     ("driver", "libhook.so's dlsym let it through, though it has cuInit")),
    ("program hook driver other", "program", "other", "cuInit", "driver",
     ("wrong object", "libother.so has its own")),
    ("program hook driver other", "program", "other", "cuInit", "hook", ("hooked", "")),
    ("program hook driver other", "program", "other", "cuMemFree_v2", "hook",
     ("wrong object", "libother.so has no cuMemFree_v2; the hook answers all the same")),
    ("program hook driver other", "program", "other", "cuMemFree_v2", "driver",
     ("wrong object", "libother.so has no cuMemFree_v2; libdriver.so answers all the same")),
    ("program hook driver", "program", "next", "cuCtxCreate_v2", "hook",
     ("wrong object", "RTLD_NEXT has no cuCtxCreate_v2; the hook answers all the same")),
    ("program hook driver runtime", "program", "next", "cudaMalloc", "hook", ("hooked", "")),
    ("program hook driver runtime", "program", "driver", "cudaMalloc", "hook",
     ("wrong object", "libdriver.so has no cudaMalloc; the hook answers all the same")),
    ("program driver hook", "program", "default", "cuInit", "hook", ("hooked", "")),
    ("program hook driver", "", "next", "cuInit", "driver",
     ("driver", "libhook.so's dlsym let it through, though it has cuInit")),
    ("program hook driver", "program", "default", "cuInit", "driver",
     ("driver", "libhook.so's dlsym let it through, though it has cuInit")),
    ("program hook driver", "", "default", "cuCtxCreate_v2", "hook",
     ("wrong object", "RTLD_DEFAULT has no cuCtxCreate_v2; the hook answers all the same")),
    ("program hook driver", "program", "program", "cuInit", "other",
     ("wrong object", "libprogram.so has it in libhook.so")),
    ("program hook driver", "program", "driver", "helper", "hook", ("", "")),
    ("program hook driver", "program", "driver", "helper", "driver", ("", "")),
    ("program hook driver", "program", "driver", "helper", "other", ("wrong object", "libdriver.so has its own")),
    ("program hook driver other", "program", "other", "helper", "driver",
     ("wrong object", "libother.so has no helper; libdriver.so answers all the same")),
    ("program hook driver indirect", "program", "indirect", "helper", "driver",
     ("wrong object", "libindirect.so has its own")),
    ("program hook driver indirect", "program", "indirect", "helper", "other", ("", "")),
    ("program hook driver other", "program", "default", "helper", "other", ("", "")),
    ("program hook driver other", "program", "program", "own", "other",
     ("wrong object", "libprogram.so has it in libhook.so")),
    ("program hook driver other", "program", "program", "nobodys", "driver", ("", "")),
    ("program driver asks_versions versions", "program", "asks_versions", "cuInit", "versions",
     ("driver", "no hook library is loaded")),
    ("program driver asks_versions versions other", "program", "asks_versions", "cuInit", "other",
     ("wrong object", "libasks_versions.so has it in libversions.so")),
])  # fmt: skip
def test_answers(process: RouteProcess, order: str, asker: str, where: str, name: str, answer: str,
                 expected: tuple[str, str]) -> None:  # fmt: skip
    snapshot = process.snapshot(*order.split())
    assert judge.verdict(snapshot, request(process, asker, where, name, answer)) == expected


@pytest.mark.parametrize(("where", "name", "answer", "expected"), [
    ("driver", "helper", ("driver", "cuMemFree_v2"), ("other", "cuMemFree_v2 in the place of helper")),
    ("default", "helper", ("driver", "cuMemFree_v2"), ("other", "cuMemFree_v2 in the place of helper")),
    ("default", "helper", ("other", "cuInit"), ("wrong object", "cuInit in the place of libdriver.so's helper")),
    ("default", "nobodys", ("other", "cuInit"), ("other", "cuInit in the place of nobodys")),
    ("driver", "helper", ("hook", "own"), ("", "")),  # that is what a hook is for
    ("unknown", "helper", ("driver", "cuMemFree_v2"), ("", "")),
])  # fmt: skip
def test_another_function_in_the_place_of_one_that_is_none_of_the_api(
    process: RouteProcess, where: str, name: str, answer: tuple[str, str], expected: tuple[str, str]
) -> None:
    asked = request(process, "program", where, name)
    asked.answer = process.reached(*answer)
    assert judge.verdict(process.snapshot("program", "hook", "driver", "other"), asked) == expected


@pytest.mark.parametrize(("order", "asker", "where", "name", "more", "why"), [
    ("program hook driver", "program", "driver", "cuNobody", {}, "no loaded object has it"),
    ("program hook driver", "program", "driver", "cuInit", {}, "libdriver.so has it: libhook.so refused"),
    ("program hook driver other", "program", "other", "cuMemFree_v2", {},
     "libdriver.so has it, libother.so does not reach it"),
    ("program hook driver", "program", "unknown", "cuInit", {}, "libdriver.so has it, libunknown.so does not reach it"),
    ("program hook", "program", "default", "cuInit", {}, "libhook.so has it, RTLD_DEFAULT does not reach it"),
    ("program driver hook runtime", "program", "next", "cudaMalloc", {},
     "libruntime.so has it, but was loaded by dlopen: RTLD_NEXT does not look there"),
    ("program driver hook runtime", "program", "default", "cudaMalloc", {},
     "libruntime.so has it, RTLD_DEFAULT does not reach it"),
    ("program hook driver", "driver", "next", "cuMemFree_v2", {}, "libdriver.so has it, RTLD_NEXT does not reach it"),
    ("asks_versions hook versions", "asks_versions", "versions", "cuInit", {"resolver": "dlvsym", "version": "OTHER"},
     "libversions.so has it, not in version OTHER"),
    ("asks_versions driver versions", "asks_versions", "versions", "cuInit",
     {"resolver": "dlvsym", "version": "OTHER"}, "libversions.so has it, not in version OTHER"),
    ("asks_versions hook versions", "asks_versions", "versions", "cuInit",
     {"resolver": "dlvsym", "version": "DRIVER_1", "owner": "/lib/libc.so.6"},
     "libversions.so has it: libc.so.6 refused"),
])  # fmt: skip
def test_why_nothing_came(process: RouteProcess, order: str, asker: str, where: str, name: str, more: dict[str, Any],
                          why: str) -> None:  # fmt: skip
    found = judge.verdict(process.snapshot(*order.split()), request(process, asker, where, name, **more))
    assert found == ("missing", why)


@pytest.mark.parametrize(("order", "more", "hidden", "expected"), [
    ("program driver", {}, False, "no hook library is loaded"),
    ("program hook driver", {"owner": "/lib/libc.so.6", "owner_layer": "system"}, True,
     "libc.so.6 was asked, not the hook"),
    ("program hook driver", {}, False, "libhook.so's dlsym let it through"),
    ("program hook driver", {}, True, "libhook.so's dlsym let it through, though it has cuMemFree_v2"),
])
def test_why_past_the_hook(process: RouteProcess, order: str, more: dict[str, Any], hidden: bool,
                           expected: str) -> None:  # fmt: skip
    snapshot = process.snapshot(*order.split(), is_hidden=lambda name: hidden)
    asked = request(process, "program", "driver", "cuMemFree_v2", "driver", **more)
    asked.verdict = judge.verdict(snapshot, asked)
    assert asked.verdict == ("driver", expected)
    assert judge.is_left_to_the_driver(asked) is (expected == "libhook.so's dlsym let it through")


def test_another_hook_library_has_what_this_one_let_through(process: RouteProcess) -> None:
    asked = request(process, "program", "driver", "cuInit", "driver", owner="/opt/libsecond.so")
    asked.verdict = judge.verdict(process.snapshot("program", "hook", "driver"), asked)
    assert asked.verdict == ("driver", "libsecond.so's dlsym let it through, though libhook.so has cuInit")
    assert not judge.is_left_to_the_driver(asked)


def test_handed_on_by_the_hook_is_not_its_own_question(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    assert judge.verdict(snapshot, request(process, "hook", "next", "cuInit", "hook", handed_on=True)) == ("hooked", "")


def test_what_a_handle_means(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver", "other")
    names = {one: name for name, one in process.of.items()}

    def searched(asker: str, where: str) -> list[str] | None:
        found = right_object.searched(snapshot, request(process, asker, where, "cuInit"))
        return None if found is None else [names[one] for one in found]

    start = ["program", "hook", "driver"]
    assert searched("program", "default") == searched("", "default") == searched("program", "program") == start
    assert searched("other", "default") == [*start, "other"]
    assert searched("hook", "next") == ["driver"] and searched("other", "next") == []
    assert searched("", "next") is None and searched("program", "unknown") is None
    assert searched("program", "other") == ["other"] and searched("program", "driver") == ["driver"]


def test_an_answer_without_a_name_is_remembered(process: RouteProcess) -> None:
    """The release build of a hook: nothing tells its functions but what they were handed out for."""
    snapshot = process.snapshot("program", "hook", "driver")
    nameless = Reached(0x5000, (), "/opt/libhook.so", "hook", 0x100)
    first, second = (request(process, "program", "driver", name, "hook") for name in ("cuInit", "cuMemAlloc_v2"))
    first.answer = second.answer = nameless
    assert judge.verdict(snapshot, first) == ("hooked", "")
    found = judge.verdict(snapshot, second)
    assert found == ("wrong version", "the same address was answered for cuInit: 1 parameter instead of 2")
    assert snapshot.learned == {0x5000: "cuInit"}


def test_who_reaches_which_dlsym(process: RouteProcess) -> None:
    """The system's libraries are shown where all are wanted."""
    snapshot = process.snapshot("asks", "hook", "system_asks")
    found, everything = (resolvers.references(snapshot, wanted) for wanted in (False, True))
    assert [(one.asker, one.function, one.way) for one in found] == [("/opt/libasks.so", "dlsym", "PLT")]
    assert [one.asker for one in everything] == ["/opt/libasks.so", "/opt/libsystem_asks.so"]
    assert resolvers.references(process.snapshot("program", "hook", "driver"), True) == []
    found = collect.search(process.snapshot("program", "hook", "driver"), "dlsym")
    assert rows(resolvers.reference_table([found], plain)) == [
        ["asked by", "function", "way", "reaches"], ["app libprogram.so", "dlsym", "by name", "hook libhook.so dlsym"]]
    text = resolvers.reference_table([found], marked)
    assert "<layer-app>app libprogram.so" in text and "<function>dlsym" in text and "<layer-hook>hook libhook" in text


def test_the_address_of_a_function_that_is_an_entry_of_the_programs_plt(process: RouteProcess) -> None:
    """What a program that is not position-independent gives to everyone: where does it lead?"""
    snapshot = process.snapshot("program", "hook", "driver")
    program, hook = process.of["program"], process.of["hook"]
    (slot,) = (slot for slot in program.slots({"cuInit"}) if slot.kind == "PLT")
    entry = slot_values(snapshot.memory, [slot])[slot.address]
    assert program.image.holds(entry)  # not called yet: back into its own PLT
    assert collect.canonical(snapshot, hook, "cuInit", entry) == process.address("hook", "cuInit")
    nobody = process.snapshot("program", "runtime")
    assert collect.canonical(nobody, process.of["runtime"], "cuInit", entry) == entry
    assert collect.canonical(snapshot, hook, "cuMemFree_v2", entry) == entry
    assert collect.canonical(snapshot, program, "cuInit", entry) == entry
    known = process.address("driver", "cuInit")
    assert collect.canonical(snapshot, hook, "cuInit", known) == known
    assert collect.canonical(snapshot, hook, "cuInit", 0x10) == 0x10
    assert process.loaded["program"].ask() == 7
    assert collect.canonical(snapshot, hook, "cuInit", entry) == process.address("driver", "cuInit")


# -- dlopen


def opening(process: RouteProcess, asker: str, name: str, **more: Any) -> Request:
    """The program's dlopen, answered by the hook library, which has asked the loader itself."""
    more = {"resolver": "dlopen", "asks_on": True, **more}
    return request(process, asker, "default", name, **more)


@pytest.mark.parametrize(("more", "why"), [
    ({}, "not searched: the RUNPATH of libprogram.so, FOLDER (libhook.so has asked the loader)"),
    ({"error": "libx.so: cannot open"},
     "libx.so: cannot open; not searched: the RUNPATH of libprogram.so, FOLDER (libhook.so has asked the loader)"),
    ({"asks_on": False}, ""),  # it has jumped there
    ({"owner": "/lib/libc.so.6", "owner_layer": "system"}, ""),
    ({"owner": "/opt/libprogram.so", "owner_layer": "app"}, ""),  # it has asked itself
    ({"name": "/opt/libx.so"}, ""), ({"name": "./libx.so"}, ""), ({"name": ""}, ""),
    ({"flags": 4}, "it was not loaded yet (RTLD_NOLOAD); not searched: the RUNPATH of libprogram.so, FOLDER "
                   "(libhook.so has asked the loader)"),
    ({"flags": 4, "error": "no", "asks_on": False}, "no"), ({"flags": 4, "asks_on": False},
                                                          "it was not loaded yet (RTLD_NOLOAD)"),
    ({"flags": 2, "asks_on": False}, ""), ({"flags": None, "asks_on": False}, ""),
])  # fmt: skip
def test_why_an_object_was_not_opened(process: RouteProcess, more: dict[str, Any], why: str) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    folder = process.of["program"].dynamic.run_path[1]
    asked = opening(process, "program", more.pop("name", "libx.so") if "name" in more else "libx.so", **more)
    assert judge.verdict(snapshot, asked) == ("missing", why.replace("FOLDER", folder))
    asked.answer = Reached(1, (), "/opt/libx.so", "app")
    searched = why[why.find("not searched") :] if "not searched" in why else ""
    assert judge.verdict(snapshot, asked) == ("", searched.replace("FOLDER", folder))


def test_an_opening_by_nobody_and_by_who_has_no_run_path(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    assert judge.verdict(snapshot, opening(process, "", "libx.so")) == ("missing", "")
    program = process.of["program"].dynamic
    kept = program.run_path
    try:
        program.__dict__["run_path"] = ("", "")
        assert judge.verdict(snapshot, opening(process, "program", "libx.so")) == ("missing", "")
    finally:
        program.__dict__["run_path"] = kept


def test_of_several_that_have_it_the_drivers_or_the_runtimes_is_named(process: RouteProcess) -> None:
    """The hook's own comes last, wherever it is in the search order."""
    snapshot = process.snapshot("program", "upper", "second", "hook", "driver", "runtime")
    found = judge.verdict(snapshot, request(process, "program", "program", "cuInit", owner="/lib/libc.so.6"))
    assert found == ("missing", "libdriver.so has it: libc.so.6 refused")
    found = judge.verdict(snapshot, request(process, "program", "runtime", "cudaMalloc", owner="/lib/libc.so.6"))
    assert found == ("missing", "libruntime.so has it: libc.so.6 refused")


def test_what_dlerror_would_say_is_said_of_the_loaders_own_resolvers(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    asked = request(process, "program", "driver", "cuNobody", error="undefined symbol: cuNobody")
    assert judge.verdict(snapshot, asked).why == "no loaded object has it; dlerror: undefined symbol: cuNobody"
    asked.resolver = "cuGetProcAddress"
    assert judge.verdict(snapshot, asked).why == ""
