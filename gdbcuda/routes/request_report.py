"""The log of requests as a table and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gdbcuda.routes.report import Paint, reached
from gdbcuda.routes.requests import Request
from gdbcuda.routes.verdicts import ROLES, WORDS
from gdbcuda.text import render
from gdbcuda.text.printable import visible

HEADERS = ("#", "resolver", "asked for", "asked by", "answer", "verdict", "why")
STREAMS = {1: "legacy stream", 2: "per-thread stream"}  # CUdriverProcAddress_flags


def table(requests: Sequence[Request], paint: Paint) -> str:
    rows = [(r.number, resolver(r), asked_for(r, paint), asker(r, paint), answer(r, paint),
             paint(r.verdict.word, ROLES.get(r.verdict.word, "dim")), why(r)) for r in requests]  # fmt: skip
    return render.table(rows, HEADERS, colour=paint("x", "ok") != "x")


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
    return f"{text}, {STREAMS.get(request.flags, f'flags {request.flags}')}" if request.flags else text


def asker(request: Request, paint: Paint) -> str:
    layer = request.asker.layer
    text = visible(request.asker.text)
    return text.replace(layer, paint(layer, f"layer-{layer}"), 1) if layer else text


def answer(request: Request, paint: Paint) -> str:
    return reached(request.answer, paint) if request.returned else "(has not returned)"


def why(request: Request) -> str:
    if not request.substituted:
        return request.verdict.why
    return "; ".join(filter(None, (f"by cuda-dlsym answer {request.substituted}", request.verdict.why)))


def summary(requests: Iterable[Request]) -> str:
    """ "47 requests by the program: 30 hooked, 12 driver; 120 more by the hook itself"."""
    everything = list(requests)
    mine = [request for request in everything if not request.is_hooks_own]
    counts = Counter(request.verdict.word or "not of the API" for request in mine if request.returned)
    counts["not answered yet"] = sum(not request.returned for request in mine)
    words = [f"{counts[word]} {word}" for word in (*WORDS, "not of the API", "not answered yet") if counts[word]]
    own = len(everything) - len(mine)
    head = f"{len(mine)} request{'' if len(mine) == 1 else 's'} by the program"
    return head + (": " + ", ".join(words) if words else "") + (f"; {own} more by the hook itself" if own else "")


def cost(stops: int, seconds: float) -> str:
    """What recording has taken, the part that can be measured here."""
    if not stops:
        return ""
    each = f"{seconds / stops * 1e3:.2f} ms a stop"
    return f"Recorded with {stops} stops: {seconds:.2f} s in the debugger's Python ({each}), gdb's own time aside."
