"""The book of requests: which return belongs to which entry."""

from __future__ import annotations

from typing import Any

import pytest
from routes_process import marked, plain, rows

from gdbcuda import api
from gdbcuda.data_classes import replace
from gdbcuda.routes import shapes
from gdbcuda.routes.reports import request_report
from gdbcuda.routes.requests import Asker, Book, Request
from gdbcuda.routes.snapshot import Reached
from gdbcuda.routes.verdicts import WORDS, Verdict

APP, HOOK = Asker(0x1000, 0, "main", "/bin/app", "app", "app.c:3"), Asker(0x2000, 0x20, "", "/lib/libhook.so", "hook")
DRIVER = Reached(0x3000, ("cuInit",), "/lib/libcuda.so.1", "driver")


def request(sp: int, name: str = "cuInit", thread: int = 1, asker: Asker = APP, owner: str = HOOK.file) -> Request:
    more = {"name": name, "handle_text": "RTLD_NEXT", "arguments": (0, len(name))}
    return Request("dlsym", owner, "hook", asker, thread, sp, **more)


def entered(book: Book, *requests: Request) -> list[Request]:
    for one in requests:
        book.enter(one)
    return list(requests)


def test_nested_requests_return_innermost_first() -> None:
    book = Book()
    outer, inner = entered(book, request(0x900), request(0x800, asker=HOOK))
    assert (inner.inside, inner.handed_on) == (outer.number, False)
    assert book.leave(1, 0x800) == [inner]
    assert inner.returned and not outer.returned
    assert book.leave(1, 0x900) == [outer]
    assert book.leave(1, 0x900) == []


def test_a_jump_into_the_next_resolver_returns_with_it() -> None:
    book = Book()
    outer, inner = entered(book, request(0x900), request(0x900, owner="/lib/libc.so.6"))
    assert inner.handed_on and inner.is_hooks_own and not outer.is_hooks_own
    assert book.leave(1, 0x900) == [outer, inner]


def test_a_request_that_is_met_twice_is_one() -> None:
    """A signal came at its first instruction. One with other arguments is another: the first was left by a jump."""
    book = Book()
    assert book.enter(request(0x900)) and not book.enter(request(0x900)) and book.count == 1
    assert book.enter(request(0x900, "cuMemAlloc"))
    assert book.enter(request(0x800)) and not book.enter(request(0x800))
    book.leave(1, 0x800)
    assert book.enter(request(0x800))


def test_frames_that_were_left_by_longjmp_are_dropped() -> None:
    book = Book()
    lost, found = entered(book, request(0x800), request(0x900))
    assert found.inside == 0
    assert book.leave(1, 0x900) == [found]
    assert not lost.returned


def test_the_same_question_from_deeper_and_deeper_is_counted() -> None:
    """Whether the earlier ones have returned or not; from the same depth it is a loop."""
    book = Book()
    first, again, other = entered(book, request(0x900), request(0x800), request(0x780, "cuCtxCreate_v2"))
    book.leave(1, 0x800)
    third, elsewhere = entered(book, request(0x700), request(0x600, thread=2))
    assert [one.repeated for one in (first, again, third)] == [1, 2, 3]
    assert [other.repeated, elsewhere.repeated] == [1, 1]
    book.leave(1, 0x700)
    loop, shallower = entered(book, request(0x700), request(0x900))
    assert [loop.repeated, shallower.repeated] == [1, 1]
    book.forget_open()
    assert entered(book, request(0x100))[0].repeated == 1


def test_threads_are_apart() -> None:
    book = Book()
    one, two = entered(book, request(0x900, thread=1), request(0x900, thread=2))
    assert two.inside == 0 and not two.handed_on
    assert book.leave(2, 0x900) == [two]
    assert not one.returned


def test_what_is_not_kept_is_still_waited_for() -> None:
    book = Book()
    silent = request(0x900)
    book.enter(silent, keep=False)
    assert list(book.requests) == [] and book.count == 0
    assert book.leave(1, 0x900) == [silent]


def test_the_oldest_are_forgotten() -> None:
    book = Book(most=2)
    entered(book, *(request(0x900 - 8 * i) for i in range(5)))
    assert [one.number for one in book.requests] == [4, 5]
    assert book.count == 5


def answered(*requests: Request) -> list[Request]:
    for one in entered(Book(), *requests):
        one.returned, one.answer, one.verdict = True, DRIVER, Verdict("driver", "libhook.so's dlsym let it through")
    return list(requests)


def test_json() -> None:
    (one,) = answered(request(0x900))
    one.handle, one.result, one.status, one.version, one.flags = 7, 5, 2, 12000, 1
    assert one.as_json() == {
        "number": 1, "inferior": 1, "process": 0, "thread": 1, "inside": 0, "handed_on": False,
        "resolver": "dlsym", "object": "/lib/libhook.so", "layer": "hook", "name": "cuInit", "handle": 7,
        "handle_of": "RTLD_NEXT", "version": 12000, "flags": 1, "returned": True, "result": 5, "status": 2,
        "asker": {"address": 0x1000, "offset": 0, "function": "main", "file": "/bin/app", "layer": "app",
                  "source": "app.c:3"},
        "answer": {"address": 0x3000, "name": "cuInit", "object": "/lib/libcuda.so.1", "layer": "driver"},
        "verdict": "driver", "why": "libhook.so's dlsym let it through", "error": "",
            "substituted": 0,
    }  # fmt: skip
    empty = Request("dlsym", "/lib/libhook.so", "hook", APP, 3, 8).as_json()
    wanted = {"inferior": 1, "process": 0, "thread": 3, "name": "", "handle": None, "handle_of": "", "version": None,
              "flags": None, "number": None, "returned": False, "result": None, "status": None, "answer": None,
              "verdict": "", "why": ""}  # fmt: skip
    assert {key: empty[key] for key in wanted} == wanted


def test_the_table_of_requests() -> None:
    asked, inner, missing, waiting, nameless = entered(
        Book(), request(0x900), request(0x800, asker=HOOK, owner="/lib/libc.so.6"), request(0x700, "cuNothing"),
        request(0x600), request(0x500, "", thread=2))  # fmt: skip
    answered(asked, inner)
    inner.number, inner.inside, inner.substituted = 2, 1, 4
    missing.number, missing.returned, missing.verdict = 3, True, Verdict("missing")
    waiting.number, nameless.number = 4, 5
    nameless.returned, nameless.answer, nameless.substituted, nameless.asker = True, DRIVER, 6, Asker(0x77)
    let_through = "libhook.so's dlsym let it through"
    shown = [asked, inner, missing, waiting, nameless]
    assert rows(request_report.table(shown, plain)) == [
        ["#", "resolver", "asked for", "asked by", "answer", "verdict", "why"],
        ["1", "dlsym of libhook.so", "cuInit in RTLD_NEXT", "app app main() at app.c:3", "driver libcuda.so.1 cuInit",
         "driver", let_through],
        ["2", "dlsym of libc.so.6 (in #1)", "cuInit in RTLD_NEXT", "hook libhook.so+0x20", "driver libcuda.so.1 cuInit",
         "driver", f"by cuda-dlsym answer 4; {let_through}"],
        ["3", "dlsym of libhook.so (in #2)", "cuNothing in RTLD_NEXT", "app app main() at app.c:3", "nothing",
         "missing"],
        ["4", "dlsym of libhook.so (in #3)", "cuInit in RTLD_NEXT", "app app main() at app.c:3", "(has not returned)"],
        ["5", "dlsym of libhook.so", "RTLD_NEXT", "unknown code at 0x77", "driver libcuda.so.1 cuInit",
         "by cuda-dlsym answer 6"],
    ]  # fmt: skip
    text = request_report.table([asked, missing], marked)
    for cell in ("<function>cuInit in RTLD_NEXT", "<layer-app>app app main()", "<warning>driver", "<dim>missing",
                 "<layer-driver>driver libcuda.so.1 cuInit"):  # fmt: skip
        assert cell in text
    assert "<dim>" in request_report.table([waiting], marked)


def opening(number: int, name: str, flags: int | None, answer: Reached | None = None, asker: Asker = APP) -> Request:
    one = Request("dlopen", HOOK.file, "hook", asker, 1, 0x900, name=name, flags=flags, number=number)
    one.returned, one.answer = True, answer
    return one


def test_the_table_of_openings() -> None:
    there = Reached(0x3000, (), "/lib/libcuda.so.1", "driver")
    shown = [opening(1, "libcuda.so.1", 2, there), opening(2, "libx.so", 0x101),
             opening(3, "y", 0x1004 | 0x20000, there._replace(layer="")), opening(4, "", 0), opening(5, "z", None)]
    shown[1].verdict = Verdict("missing", "no such file")
    assert [row[2:] for row in rows(request_report.table(shown, plain))] == [
        ["asked for", "asked by", "answer", "verdict", "why"],
        ["libcuda.so.1, RTLD_NOW", "app app main() at app.c:3", "driver /lib/libcuda.so.1"],
        ["libx.so, RTLD_LAZY|RTLD_GLOBAL", "app app main() at app.c:3", "nothing", "missing", "no such file"],
        ["y, RTLD_NOLOAD|RTLD_NODELETE|0x20000", "app app main() at app.c:3", "/lib/libcuda.so.1"],
        ['"", 0x0', "app app main() at app.c:3", "nothing"],
        ["z, 0x0", "app app main() at app.c:3", "nothing"],
    ]
    text = request_report.table(shown, marked)
    assert "<layer-driver>driver /lib/libcuda.so.1" in text and "<dim>/lib/libcuda.so.1" in text


def test_the_summary_of_openings() -> None:
    """To ask whether it is there already is no failure; what the hook opens is not counted."""
    there = Reached(0x3000, (), "/lib/libcuda.so.1", "driver")
    found, asked, failed = opening(1, "a", 2, there), opening(2, "b", 6), opening(3, "c", 2)
    own, waiting = opening(4, "d", 2, asker=HOOK), opening(5, "e", None)
    waiting.returned = False
    said = "0 requests by the program; "
    assert request_report.summary([found, asked, own]) == f"{said}2 dlopen"
    assert request_report.summary([found, asked, failed, opening(6, "f", None), waiting, own]) == (
        f"{said}5 dlopen, 2 of them failed")  # fmt: skip


def test_what_the_loader_is_asked_is_where_its_manual_says() -> None:
    """dlsym(3), dlopen(3): the numbers of their arguments."""
    shape = shapes.shapes(api.load(), ())
    assert {name: (one.name, one.handle, one.symbol_version, one.flags, one.arity) for name, one in shape.items()} == {
        "dlsym": (1, 0, None, None, 2), "dlvsym": (1, 0, 2, None, 3),
        "dlopen": (0, None, None, 1, 2), "dlmopen": (1, None, None, 2, 3)}  # fmt: skip


@pytest.mark.parametrize(("handle", "version", "flags", "expected"), [
    ("libcuda.so.1", None, None, "cuInit in libcuda.so.1"), ("", None, None, "cuInit"), ("", 8000, 0, "cuInit at 8000"),
    ("", 8000, 1, "cuInit at 8000, legacy stream"), ("", 8000, 2, "cuInit at 8000, per-thread stream"),
    ("", None, 5, "cuInit, flags 5"), ("RTLD_NEXT", "GLIBC_2.34", None, "cuInit in RTLD_NEXT version GLIBC_2.34"),
    ("RTLD_NEXT", "", None, "cuInit in RTLD_NEXT version (none)"),
    ("a\x1b[31mname", None, None, "cuInit in a\\x1b[31mname"),
])
def test_what_was_asked_for(handle: str, version: int | str | None, flags: int | None, expected: str) -> None:
    one = request(1)
    one.handle_text, one.version, one.flags = handle, version, flags
    assert request_report.asked_for(one, plain) == expected


def test_the_last_answer_to_the_program() -> None:
    """cuda-dlsym answer's own question: newest first, of these resolvers, answered, and not the hook's own."""
    book, dlsym = Book(), frozenset({"dlsym"})
    old, new, other, own, waiting = entered(
        book, request(0x900), request(0x800), request(0x700, "cuOther"), request(0x600, asker=HOOK), request(0x500))
    for one in (old, new, other, own):
        one.returned = True
    assert book.last("cuInit", dlsym) is new and book.last("cuOther", dlsym) is other
    assert book.last("cuInit", frozenset({"dlvsym"})) is None and book.last("cuNobody", dlsym) is None
    waiting.returned = True
    assert book.last("cuInit", dlsym) is waiting


def test_the_process_is_gone() -> None:
    book = Book()
    (open_one,) = entered(book, request(0x900))
    book.forget_open()
    assert book.leave(1, 0x900) == [] and not open_one.returned and list(book.requests) == [open_one]


@pytest.mark.parametrize("changed", [
    {"sp": 0x800}, {"resolver": "dlvsym"}, {"owner": "/lib/libc.so.6"}, {"asker": HOOK}, {"arguments": (0, 9)}])
def test_another_call(changed: dict[str, Any]) -> None:
    first = request(0x900)
    other = replace(first, **changed)
    assert first.is_same_call(request(0x900)) and not first.is_same_call(other)
    again = replace(other, substituted=1)
    assert again.is_same_call(first) is ("arguments" in changed)


def test_a_book_keeps_fifty_thousand() -> None:
    assert Book().requests.maxlen == 50_000


def test_summary() -> None:
    hooked, open_one, own = request(1), request(2), request(3, asker=HOOK)
    hooked.returned, hooked.verdict = True, Verdict("hooked")
    text = request_report.summary([hooked, open_one, own])
    assert text == "2 requests by the program: 1 hooked, 1 not answered yet; 1 more by the hook itself"
    assert request_report.summary([]) == "0 requests by the program"
    assert request_report.cost(0, 0.0) == ""
    one = request(9)
    one.returned = True
    assert request_report.summary([one]) == "1 request by the program: 1 not of the API"
    words = [request(9) for _ in WORDS]
    for one, word in zip(words, reversed(WORDS)):
        one.returned, one.verdict = True, Verdict(word)
    assert request_report.summary(words) == (
        "8 requests by the program: 1 hooked, 1 driver, 1 runtime, 1 other, 1 missing, 1 wrong version, "
        "1 wrong object, 1 real")  # fmt: skip
    assert request_report.summary([own]) == "0 requests by the program; 1 more by the hook itself"
    assert request_report.cost(200, 0.1) == (
        "Recorded with 200 stops: 0.10 s in the debugger's Python (0.50 ms a stop), gdb's own time aside.")


def test_texts_of_what_has_no_name() -> None:
    assert HOOK.text == "hook libhook.so+0x20" and HOOK._replace(file="/opt/lib/libhook.so").object == "libhook.so"
    assert Asker(0x77, file="/a", layer="app").text == "app a+0x0"
    assert Asker(0x77).text == "unknown code at 0x77"
    assert APP.text == "app app main() at app.c:3" and APP._replace(source="").text == "app app main()"
    assert Reached(0x77, (), "", "").text == "unknown code 0x77"
    learned = Reached(0x2139, (), "/lib/libhook.so", "hook", 0x139, "cuInit")
    assert learned.text == "hook libhook.so+0x139 (answered for cuInit)"
    one = request(1, name="")
    one.handle_text, one.version, one.flags = "", 12000, 2
    assert request_report.asked_for(one, lambda text, role: text) == '"" at 12000, per-thread stream'


def test_a_recursion_is_folded() -> None:
    """Thousands of the same questions, each deeper in the stack than before; another one is a row of its own."""
    book = Book()
    for depth in range(5000):
        entered(book, request(0x1000000 - 0x100 * depth, "cudnnCreate"), request(0x1000000 - 0x100 * depth, "dlopen"))
    entered(book, request(0x1000))
    shown = request_report.table(book.requests, plain)
    numbers = [row[0] for row in rows(shown)]
    assert numbers == ["#", "1", "2", "3", "4", "5", "6", "...", "9999", "10000", "10001"]
    assert "9,992 more of these, each deeper in the stack" in shown
    assert shown.splitlines()[2].startswith("    1  dlsym of ")


def test_questions_one_after_another_are_no_recursion() -> None:
    book = Book()
    for _ in range(29):
        entered(book, request(0x1000))
        book.leave(1, 0x1000)
    assert len(rows(request_report.table(book.requests, plain))) == 30  # with the head
