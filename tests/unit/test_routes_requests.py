"""The book of requests: which return belongs to which entry."""

from __future__ import annotations

from gdbcuda.routes import request_report
from gdbcuda.routes.requests import Asker, Book, Request
from gdbcuda.routes.snapshot import Reached
from gdbcuda.routes.verdicts import Verdict

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


def test_json_and_table_say_the_same() -> None:
    one = request(0x900)
    entered(Book(), one)
    one.returned, one.answer, one.verdict = True, DRIVER, Verdict("driver", "libhook.so's dlsym let it through")
    data = one.as_json()
    assert data["asker"]["function"] == "main" and data["answer"]["name"] == "cuInit" and data["verdict"] == "driver"
    text = request_report.table([one], lambda text, role: text)
    assert all(part in text for part in ("cuInit in RTLD_NEXT", "app app main() at app.c:3", "libcuda.so.1 cuInit"))


def test_summary() -> None:
    hooked, open_one, own = request(1), request(2), request(3, asker=HOOK)
    hooked.returned, hooked.verdict = True, Verdict("hooked")
    text = request_report.summary([hooked, open_one, own])
    assert text == "2 requests by the program: 1 hooked, 1 not answered yet; 1 more by the hook itself"
    assert request_report.summary([]) == "0 requests by the program"
    assert request_report.cost(0, 0.0) == ""
    assert "200 stops: 0.10 s in the debugger's Python (0.50 ms a stop)" in request_report.cost(200, 0.1)


def test_texts_of_what_has_no_name() -> None:
    assert HOOK.text == "hook libhook.so+0x20"
    assert Asker(0x77).text == "unknown code at 0x77"
    assert Reached(0x77, (), "", "").text == "unknown code 0x77"
    learned = Reached(0x2139, (), "/lib/libhook.so", "hook", 0x139, "cuInit")
    assert learned.text == "hook libhook.so+0x139 (answered for cuInit)"
    one = request(1, name="")
    one.handle_text, one.version, one.flags = "", 12000, 2
    assert request_report.asked_for(one, lambda text, role: text) == '"" at 12000, per-thread stream'
