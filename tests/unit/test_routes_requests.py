"""The book of requests: which return belongs to which entry."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from routes_process import marked, plain, rows

from gdbcuda.routes import request_report
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
              "flags": None, "number": 0, "returned": False, "result": None, "status": None, "answer": None,
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
    other = dataclasses.replace(first, **changed)
    assert first.is_same_call(request(0x900)) and not first.is_same_call(other)
    again = dataclasses.replace(other, substituted=1)
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
    assert HOOK.text == "hook libhook.so+0x20"
    assert Asker(0x77).text == "unknown code at 0x77"
    assert APP.text == "app app main() at app.c:3" and APP._replace(source="").text == "app app main()"
    assert Reached(0x77, (), "", "").text == "unknown code 0x77"
    learned = Reached(0x2139, (), "/lib/libhook.so", "hook", 0x139, "cuInit")
    assert learned.text == "hook libhook.so+0x139 (answered for cuInit)"
    one = request(1, name="")
    one.handle_text, one.version, one.flags = "", 12000, 2
    assert request_report.asked_for(one, lambda text, role: text) == '"" at 12000, per-thread stream'
