"""Whose answer led a hook library back to itself: the request that handed a function of the cycle out to the cycle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdbcuda.live.dlsym import request_log, wanted_requests
from gdbcuda.live.frames.frames import CodePlace
from gdbcuda.live.layers import table_version
from gdbcuda.live.stopping import stops
from gdbcuda.routes.reports import request_report
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request

HINT = "Was one of them handed out? cuda-dlsym log on, before run, tells by whom."


def text(cycle: Sequence[CodePlace]) -> str:
    """A line of its own; "" where nothing is known, and nothing was handed out."""
    requests = [one for one in request_log.LOG().book.requests if is_cause(one, cycle)]
    if requests:
        return line(requests[0])
    is_of_api = any(table_version.function(place.function) for place in cycle)
    return HINT if is_of_api and not wanted_requests.is_on() else ""


def is_cause(request: Request, cycle: Sequence[CodePlace]) -> bool:
    answer = request.answer
    if answer is None or not request.returned or all(place.file != request.asker.file for place in cycle):
        return False
    return any(place.file == answer.file and place.function in answer.names for place in cycle)


def line(request: Request) -> str:
    paint, why = stops.paint, visible(f" ({request.verdict.why})" if request.verdict.why else "")
    resolver = visible(f"{request.resolver} of {os.path.basename(request.owner)}")
    asked = f"{request_report.asked_for(request, paint)} by {request_report.asker(request, paint)}"
    return f"Request #{request.number} led there: {resolver}, asked for {asked}, answered " \
           f"{request_report.answer(request, paint)}{why}"  # fmt: skip
