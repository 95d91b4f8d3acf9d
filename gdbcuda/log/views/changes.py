"""What the hook library changed, from the tree of calls: its own entry against what it asked of the next layer."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from gdbcuda.calls.record import RETURN_LOST, STILL_OPEN, Call
from gdbcuda.calls.text import CallWriter, parameters, value
from gdbcuda.log.views.tree import CallNode
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some

HOOK = "hook"
RESOLVING = "proc-address"  # its answers differ because hooking is its job
MOST_HELD = 1000  # kinds of changes that wait for more of their kind
MOST_NAMES = 40  # of functions that were answered with another one
NEVER = "never forwarded"
A_POINTER = "a pointer"  # to what is not known
INDENT, WIDTH = " " * 9, 120


def hook_calls(roots: Iterable[CallNode]) -> Iterator[CallNode]:
    """Calls that entered the hook from outside of it."""
    for root in roots:
        inside = {root.call.number: False}
        for node in root.walk():
            here = node.call.layer == HOOK
            if here and not inside[node.call.number]:
                yield node
            inside.update((child.call.number, here) for child in node.children)


def next_calls(node: CallNode) -> list[CallNode]:
    """What the hook asked of the layers behind it, through whatever calls of its own."""
    found, stack = [], list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.call.layer == HOOK:
            stack.extend(reversed(child.children))
        else:
            found.append(child)
    return found


class Change(NamedTuple):
    """``what`` is "argument", "out", "result" (``asked`` of the hook, ``passed`` on; for the last two ``asked`` is what
    the hook told and ``passed`` what it got), "extra call" (``call``) or "never forwarded"."""

    what: str
    name: str = ""
    asked: Any = None
    passed: Any = None
    call: Call | None = None

    def text(self, writer: CallWriter, function: str) -> str:
        if self.call is not None:
            return f"{self.what}: {visible(self.call.layer)} {writer.call(self.call)}"
        parameter = parameters(writer.table, function).get(self.name)
        asked, passed = value(self.asked, parameter), value(self.passed, parameter)
        if self.what == "argument":
            return visible(f"argument {self.name}: {asked}, passed on as {passed}")
        if self.what == "out":
            return visible(f"out {self.name}: got {passed}, told {asked}")
        return visible(f"result: {passed} became {asked}") if self.what == "result" else self.what

    def kind(self, writer: CallWriter, function: str) -> Hashable:
        """Changes of one kind are told once. An extra call is what it asked for, not where its answers went."""
        if self.call is not None:
            return self.what, self.call.name, self.call.layer, str(self.call.result)
        return self.text(writer, function)


class Repeated:
    """One change, and in how many calls it was seen; of requests, what they were for."""

    def __init__(self, text: str, number: int) -> None:
        self.told, self.first, self.last, self.count = text, number, number, 0
        self.wanted: dict[str, None] = {}  # in order

    def add(self, number: int, wanted: str) -> None:
        self.last, self.count = number, self.count + 1
        if wanted:
            self.wanted.setdefault(wanted)

    def text(self) -> str:
        """ "x 20, #1269 ... #1731" below the first of them, and the names that were asked for."""
        if self.count < 2:
            return self.told
        names = f": {visible(some([*self.wanted], MOST_NAMES))}" if self.wanted else ""
        times = f"x {self.count}, #{self.first} ... #{self.last}{names}"
        width = render.screen() or WIDTH
        return "\n".join([self.told, *textwrap.wrap(times, width, initial_indent=INDENT, subsequent_indent=INDENT)])


def differences(node: CallNode) -> list[Change]:
    """What the hook did other than pass the call on; [] if that was all."""
    call, behind = node.call, [child.call for child in next_calls(node)]
    same = [one for one in behind if one.base == call.base]  # a hook may make such calls of its own, too
    forwarded = min(same, key=lambda one: len(list(changed(call, one)))) if same else None
    found = list(changed(call, forwarded)) if forwarded is not None else []
    if forwarded is None and call.ended not in (STILL_OPEN, RETURN_LOST):  # which may yet be, or has been
        found.append(Change(NEVER))
    return found + [Change("extra call", one.name, call=one) for one in behind if one is not forwarded]


def changed(call: Call, forwarded: Call) -> Iterator[Change]:
    for name, (asked, passed) in both(call.arguments, forwarded.arguments).items():
        if content(passed) != content(asked):
            yield Change("argument", name, asked, passed)
    for name, (told, got) in both(call.out, forwarded.out).items():
        if content(got) != content(told):
            yield Change("out", name, content(told), content(got))
    if not call.ended and not forwarded.ended and call.result != forwarded.result:
        yield Change("result", "", call.result, forwarded.result)


def both(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (ours[name], theirs[name]) for name in ours if name in theirs}


def content(data: Any) -> Any:
    """What a pointer points to: where that is, is the hook's own affair. That it is NULL is not."""
    return data.get("value", A_POINTER) if isinstance(data, dict) and "address" in data else data


class Changes:
    """Of the hook's calls that somebody wants to see; ``touched`` of ``total`` were more than passed on. Of requests
    for addresses, ``changed_answers`` of ``answers`` were answered with another one."""

    def __init__(self, writer: CallWriter, takes: Callable[[Call], bool] = lambda call: True) -> None:
        self.writer, self.takes = writer, takes
        self.total = self.touched = self.answers = self.changed_answers = 0
        self.unheard: Counter[str] = Counter()  # by reason: calls that may have been passed on

    def find(self, roots: Iterable[CallNode]) -> Iterator[tuple[Call, list[Change]]]:
        """One by one, for a log of any length."""
        for node in hook_calls(roots):
            if not self.takes(node.call):
                continue
            if self.is_request(node.call):
                self.answers += 1
                found = [one for one in differences(node) if one.what in ("out", "result")]
                if found:
                    self.changed_answers += 1
                    yield node.call, found
                continue
            found = differences(node)
            why = self.why_unheard(node.call) if any(one.what == NEVER for one in found) else ""
            if why:
                self.unheard[why] += 1
                continue
            self.total += 1
            if found:
                self.touched += 1
                yield node.call, found

    def why_unheard(self, call: Call) -> str:
        """"" where the log would have what the hook passes on."""
        known = self.writer.notes.unheard.get(call.process, {})
        return known.get("") or known.get(call.base, "")

    def is_request(self, call: Call) -> bool:
        function = self.writer.table.function(call.name)
        return function is not None and function.role == RESOLVING

    def texts(self, roots: Iterable[CallNode]) -> Iterator[str]:
        """What repeats is told once. A log of any length: of too many kinds some are told again."""
        held: dict[Hashable, Repeated] = {}
        for call, found in self.find(roots):
            kind = self.kind(call, found)
            if kind not in held and len(held) == MOST_HELD:
                yield from (one.text() for one in held.values())
                held.clear()
            one = held.get(kind) or held.setdefault(kind, Repeated(self.text(call, found), call.number))
            one.add(call.number, self.wanted(call))
        yield from (one.text() for one in held.values())
        yield self.conclusion()

    def kind(self, call: Call, found: list[Change]) -> Hashable:
        """A hook answers requests with its own functions: that is told once for each who asks. Not where it answers
        with none."""
        how = call.name, call.layer, str(call.result), call.ended
        if self.is_request(call) and all(one.what == "out" and one.asked is not None for one in found):
            return *how, self.writer.notes.place(call.process, call.caller).get("object", "")
        return *how, self.writer.caller(call), *(one.kind(self.writer, call.name) for one in found)

    def wanted(self, call: Call) -> str:
        """The name that a request was for; "" of other calls, and where it was not recorded."""
        function = self.writer.table.function(call.name)
        asked = next((p for p in function.parameters if p.string), None) if function and self.is_request(call) else None
        name = content(call.arguments.get(asked.name)) if asked else None
        return name if isinstance(name, str) else ""

    def text(self, call: Call, found: Iterable[Change]) -> str:
        return "\n".join([self.writer.line(call), *(f"{INDENT}{one.text(self.writer, call.name)}" for one in found)])

    def conclusion(self) -> str:
        calls = {why: f"{counted(n, 'call')} of the hook library {'was' if n == 1 else 'were'}"
                 for why, n in self.unheard.items()}  # fmt: skip
        unheard = [f"Whether {text} passed on is not known: {visible(why)}." for why, text in calls.items()]
        return "\n".join([*self.known(), *unheard])

    def known(self) -> Iterator[str]:
        if self.total + self.answers:
            yield f"{self.touched} of {self.total} calls of the hook library did more than pass the call on."
        elif not self.unheard:
            yield "No such call of a hook library is recorded."
        if self.answers:
            requests = f"{counted(self.answers, 'request')} for function addresses"
            yield f"{self.changed_answers} of {requests} got another answer; cuda-dlsym log judges them."
