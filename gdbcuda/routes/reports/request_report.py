"""The log of requests as a table and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gdbcuda.routes.reports.route_table import Paint, reached
from gdbcuda.routes.shapes import OPEN_FLAGS, RTLD_NOLOAD
from gdbcuda.routes.verdicts import ROLES, WORDS
from gdbcuda.text import render
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request

MISLEADING = ("wrong version", "wrong object")  # verdicts that are told of the hook's own requests as well
MOST_ALIKE = 3  # times that one question of a recursion is shown before the last
HEADERS = ("#", "resolver", "asked for", "asked by", "answer", "verdict", "why")
STREAMS = {1: "legacy stream", 2: "per-thread stream"}  # CUdriverProcAddress_flags


def table(requests: Sequence[Request], paint: Paint) -> str:
    rows: list[tuple[object, ...]] = []
    for is_repeated, some in groupby(requests, lambda one: one.repeated > MOST_ALIKE):
        shown = alike = list(some)
        left_out = len(alike) - len(last_ones(alike)) if is_repeated else 0
        if left_out > 1:
            more = paint(f"{left_out:,} more of these, each deeper in the stack", "dim")
            rows.append(("", "...", more, "", "", "", ""))
            shown = last_ones(alike)
        rows += [row(one, paint) for one in shown]
    return render.table(rows, HEADERS, colour=paint("x", "ok") != "x")


def row(one: Request, paint: Paint) -> tuple[object, ...]:
    verdict = one.verdict.word
    return (one.number, resolver(one), asked_for(one, paint), asker(one, paint), answer(one, paint),
            paint(verdict, ROLES.get(verdict, "dim")), why(one))  # fmt: skip


def last_ones(requests: Sequence[Request]) -> list[Request]:
    """The last request of each question from one place with one outcome: in a cycle several take turns."""
    return sorted({question(one): one for one in requests}.values(), key=lambda one: one.number)


def question(one: Request) -> tuple[object, ...]:
    return (one.thread, one.resolver, one.owner, one.name, one.handle, one.version, one.flags, one.asker, one.returned,
            one.result)  # fmt: skip


def resolver(request: Request) -> str:
    """ "dlsym of libvgpu.so"; a request that another one led to is told by that one's number."""
    inside = f" (in #{request.inside})" if request.inside else ""
    return f"{request.resolver} of {request.owner.rsplit('/', 1)[-1]}{inside}"


def asked_for(request: Request, paint: Paint) -> str:
    """ "cuMemAlloc_v2 in libcuda.so.1", "cuMemAdvise at 8000, per-thread stream"."""
    words = [paint(request.name, "function")] if request.name else [] if request.handle_text else ['""']
    if request.handle_text:
        words.append(visible(f"in {request.handle_text}" if words else request.handle_text))
    if isinstance(request.version, str):
        words.append(visible(f"version {request.version or '(none)'}"))
    elif request.version is not None:
        words.append(f"at {request.version}")
    text = " ".join(words)
    if request.is_opening:
        return f"{text}, {open_flags(request.flags or 0)}"
    return f"{text}, {STREAMS.get(request.flags, f'flags {request.flags}')}" if request.flags else text


def open_flags(flags: int) -> str:
    """ "RTLD_NOW|RTLD_GLOBAL"."""
    unknown = flags & ~sum(OPEN_FLAGS)
    words = [name for bit, name in OPEN_FLAGS.items() if flags & bit]
    return "|".join([*words, *([f"{unknown:#x}"] if unknown or not flags else [])])


def asker(request: Request, paint: Paint) -> str:
    layer = request.asker.layer
    text = visible(request.asker.text)
    return text.replace(layer, paint(layer, f"layer-{layer}"), 1) if layer else text


def answer(request: Request, paint: Paint) -> str:
    if not request.returned:
        return "(has not returned)"
    if request.is_opening and request.answer is not None:
        layer = request.answer.layer
        return paint(visible(f"{layer} {request.answer.file}".lstrip()), f"layer-{layer}" if layer else "dim")
    return reached(request.answer, paint)


def why(request: Request) -> str:
    if not request.substituted:
        return visible(request.verdict.why)
    return "; ".join(filter(None, (f"by cuda-dlsym answer {request.substituted}", request.verdict.why)))


def summary(requests: Collection[Request]) -> str:
    """ "47 requests by the program: 30 hooked, 12 driver; 120 more by the hook itself"."""
    everything = [request for request in requests if not request.is_opening]
    opened = [request for request in requests if request.is_opening and not request.is_hooks_own]
    mine = [request for request in everything if not request.is_hooks_own]
    counts = Counter(request.verdict.word or "not of the API" for request in mine if request.returned)
    counts["not answered yet"] = sum(not request.returned for request in mine)
    words = [f"{counts[word]} {word}" for word in (*WORDS, "not of the API", "not answered yet") if counts[word]]
    own = len(everything) - len(mine)
    head = f"{len(mine)} request{'' if len(mine) == 1 else 's'} by the program"
    misled = Counter(one.verdict.word for one in everything if one.is_hooks_own and one.verdict.word in MISLEADING)
    told = ", ".join(f"{misled[word]} {word}" for word in MISLEADING if misled[word])
    rest = [f"{own} more by the hook itself" + (f", {told}" if told else "")] if own else []
    rest += [openings(opened)] if opened else []
    return "; ".join([head + (": " + ", ".join(words) if words else ""), *rest])


def openings(opened: Sequence[Request]) -> str:
    """ "3 dlopen, 1 of them failed"; to ask whether something is loaded already is no failure."""
    loading = [request for request in opened if request.returned and not (request.flags or 0) & RTLD_NOLOAD]
    failed = sum(request.answer is None for request in loading)
    return f"{len(opened)} dlopen" + (f", {failed} of them failed" if failed else "")


def cost(stops: int, seconds: float) -> str:
    """What recording has taken, the part that can be measured here."""
    if not stops:
        return ""
    each = f"{seconds / stops * 1e3:.2f} ms a stop"
    return f"Recorded with {stops} stops: {seconds:.2f} s in the debugger's Python ({each}), gdb's own time aside."
