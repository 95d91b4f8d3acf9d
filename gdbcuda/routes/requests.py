"""Requests for functions by name, and for objects (dlopen), and the book they are kept in.

Whoever sees the calls (breakpoints now, later code patched into the process) tells the book two things, values only:
`Book.enter` at a resolver's first instruction and `Book.leave` where it has returned to.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from gdbcuda.data_classes import dataclass, field
from gdbcuda.routes.shapes import OPENER_NAMES
from gdbcuda.routes.snapshot import Reached
from gdbcuda.routes.verdicts import Verdict
from gdbcuda.text import cplusplus

MOST_REQUESTS = 50_000
UNKNOWN = Verdict("", "")


class Asker(NamedTuple):
    """The code that called a resolver. ``offset`` from its object's base, for code without a name."""

    address: int
    offset: int = 0
    function: str = ""
    file: str = ""
    layer: str = ""
    source: str = ""

    @property
    def object(self) -> str:
        return self.file.rsplit("/", 1)[-1]

    @property
    def text(self) -> str:
        """ "app prog main() at test.c:30", "runtime libcudart.so.13+0x28e51"."""
        if not self.file:
            return f"unknown code at {self.address:#x}"
        where = f"{self.layer} {self.object}"
        if not self.function:
            return f"{where}+{self.offset:#x}"
        return f"{where} {cplusplus.called(self.function)}" + (f" at {self.source}" if self.source else "")


@dataclass
class Request:
    """One call of a resolver. ``sp`` is the stack pointer after its return, which with the thread identifies it;
    ``version`` is a symbol version (dlvsym) or a CUDA version; ``result`` what it returned, for dlsym the answer;
    ``status`` what it wrote where a caller asks why; ``inside`` the request in whose answering this one was made;
    ``asks_on``: the dlopen has itself called another one; ``error``: what dlerror would say, the loader's own words;
    ``handed_on``: a resolver has jumped here, so that the caller is still the one who asked it; ``repeated``: how
    often the same question came from the same place, each time deeper in the stack; ``substituted`` is the number
    of the user's wish (cuda-dlsym answer) that made the answer."""

    resolver: str
    owner: str  # file of the implementation that was called
    owner_layer: str
    asker: Asker
    thread: int
    sp: int
    inferior: int = 1
    process: int = 0
    name: str = ""
    handle: int | None = None
    handle_text: str = ""
    version: int | str | None = None
    flags: int | None = None
    arguments: tuple[int, ...] = ()
    number: int = 0
    inside: int = 0
    handed_on: bool = False
    asks_on: bool = False
    error: str = ""
    repeated: int = 1
    returned: bool = False
    result: int | None = None
    status: int | None = None
    answer: Reached | None = None
    substituted: int = 0
    verdict: Verdict = field(default=UNKNOWN)

    @property
    def is_hooks_own(self) -> bool:
        """Made by the hook library, or handed on by it, in its own business."""
        return self.asker.layer == "hook" or self.handed_on

    @property
    def is_opening(self) -> bool:
        """For an object: ``name`` is its path as it was asked for, the answer is where it was found."""
        return self.resolver in OPENER_NAMES

    def is_same_call(self, other: Request) -> bool:
        """A substituted one may have another name in its register by now."""
        return (self.sp, self.resolver, self.owner, self.asker.address) == (
            other.sp, other.resolver, other.owner, other.asker.address,
        ) and (self.arguments == other.arguments or bool(self.substituted))  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        answer = self.answer
        return {
            "number": self.number or None, "inferior": self.inferior, "process": self.process,
            "thread": self.thread, "inside": self.inside, "handed_on": self.handed_on,
            "resolver": self.resolver, "object": self.owner, "layer": self.owner_layer, "name": self.name,
            "handle": self.handle, "handle_of": self.handle_text, "version": self.version, "flags": self.flags,
            "asker": self.asker._asdict(), "returned": self.returned, "result": self.result, "status": self.status,
            "answer": None if answer is None else
            {"address": answer.address, "name": answer.name, "object": answer.file, "layer": answer.layer},
            "verdict": self.verdict.word, "why": self.verdict.why, "error": self.error, "substituted": self.substituted,
        }  # fmt: skip


class Book:
    """Requests in order, the oldest forgotten first; and those that have not returned, by thread."""

    def __init__(self, most: int = MOST_REQUESTS) -> None:
        self.requests: deque[Request] = deque(maxlen=most)
        self.count = 0
        self._open: dict[int, list[Request]] = {}
        self._asked: dict[tuple[object, ...], Request] = {}

    def enter(self, request: Request, keep: bool = True) -> bool:
        """A resolver's first instruction: a request that is new? The debugger meets one twice where a signal came in
        between. Without ``keep`` the request is waited for, and not written down."""
        waiting = self._still_open(request.thread, request.sp)
        if waiting and waiting[-1].is_same_call(request):
            return False
        self.count += keep
        request.number = self.count if keep else 0
        if waiting:
            request.inside = waiting[-1].number
            request.handed_on = waiting[-1].sp == request.sp
            waiting[-1].asks_on |= request.is_opening and not request.handed_on
        waiting.append(request)
        if keep:
            self.requests.append(request)
            self._count_repeated(request)
        return True

    def _count_repeated(self, request: Request) -> None:
        question = (request.thread, request.resolver, request.owner, request.asker.address, request.name)
        before = self._asked.get(question)
        if before is not None and request.sp < before.sp:
            request.repeated = before.repeated + 1
        if len(self._asked) > MOST_REQUESTS:
            self._asked.clear()
        self._asked[question] = request

    def _still_open(self, thread: int, sp: int) -> list[Request]:
        """The stack grows down: what lies deeper than this was left by longjmp or an exception."""
        waiting = self._open.setdefault(thread, [])
        while waiting and waiting[-1].sp < sp:
            waiting.pop()
        return waiting

    def leave(self, thread: int, sp: int) -> list[Request]:
        """The requests that have just returned with this stack pointer, innermost last; [] if none has."""
        waiting = self._still_open(thread, sp)
        finished = [request for request in waiting if request.sp == sp]
        self._open[thread] = [request for request in waiting if request.sp != sp]
        for request in finished:
            request.returned = True
        return finished

    def note_error(self, thread: int, text: str) -> None:
        """The loader has failed at what the thread's open requests want; "" where it has not: it keeps one error."""
        for request in self._open.get(thread, []):
            request.error = text

    def forget_open(self) -> None:
        """The process is gone: nothing returns any more."""
        self._open.clear()
        self._asked.clear()

    def last(self, name: str, resolvers: frozenset[str]) -> Request | None:
        """The newest answered request of the program for the name."""
        return next((r for r in reversed(self.requests) if r.name == name and r.resolver in resolvers
                     and r.returned and not r.is_hooks_own), None)  # fmt: skip
