"""``cuda-dlsym log``."""

from __future__ import annotations

import json as jsonlib
import os
from fnmatch import fnmatchcase

import gdb

from gdbcuda.errors import UserError
from gdbcuda.files import user_files
from gdbcuda.live import process
from gdbcuda.live.dlsym import request_log
from gdbcuda.live.layers import names
from gdbcuda.live.prompt.command import Option, Word, command
from gdbcuda.live.stopping import stops
from gdbcuda.routes import judge
from gdbcuda.routes import request_report as report
from gdbcuda.routes.requests import Request
from gdbcuda.text.printable import visible

ACTIONS = ("on", "off", "show", "save", "clear")


@command(
    "cuda-dlsym log",
    Word("action", "on, off, show (default), save or clear", "?", lambda token: ACTIONS),
    Word("what", "for show: names to show (a glob); for save: the file", "?", names.complete_functions),
    Option("--self", "the hook's own requests too", flag=True),
    Option("--wrong", "only what is missing or wrong, or went past a function that the hook has", flag=True),
    Option("--json", "one JSON object a line, as save writes it", flag=True),
)
def cuda_dlsym_log(action: str | None, what: str | None, self: bool, wrong: bool, json: bool) -> str | None:
    """Log every request for a function by name: who asked whom for what, what came back, and whether it is right.

    Seen are dlsym and dlvsym of every object, cuGetProcAddress, cudaGetDriverEntryPoint and cuGetExportTable, from
    the moment the log is on; switch it on before run to see all. The program is stopped for an instant at each request
    and at its return, half a millisecond each, more through gdbserver; show says what it was. Nothing else is slower.

    Verdicts: hooked, driver (past the hook), other, missing, wrong version (not the function that this name means at
    this version and these flags), wrong object (not of the library that the handle stands for, or the hook's own
    function given to itself).

    Examples:
      cuda-dlsym log on
      cuda-dlsym log show
      cuda-dlsym log show 'cuMem*' --wrong
      cuda-dlsym log save /tmp/requests.jsonl
      cuda-dlsym log off"""
    if action not in (None, *ACTIONS):
        raise UserError(f"no action {action!r}; there are {', '.join(ACTIONS)} (see: help cuda-dlsym log)")
    if action in ("on", "off", "clear"):
        process.require_stopped()
        return switch(action)
    if action == "save":
        return save(what, chosen(None, True, wrong))
    found = chosen(what, self, wrong)
    if json:
        return as_lines(found)
    return show(found, none_such(what, self) if not found else left_out(what, self) if wrong else "")


def switch(action: str) -> str:
    if action == "clear":
        request_log.LOG.forget(gdb.selected_inferior().num)
        return "The log of requests is empty."
    if action == "off":
        request_log.switch_off()
        return f"Requests are not logged any more; {request_log.LOG().book.count} so far (cuda-dlsym log show)."
    request_log.switch_on()
    places = len(request_log.PLANTED().entries)
    return f"Requests are logged{f' at {places} resolvers' if places else ' from the start of the program'}."


def chosen(pattern: str | None, own: bool, wrong: bool) -> list[Request]:
    """In order; for a pattern, those whose name or base name matches it."""
    found = [r for r in request_log.LOG().book.requests if own or not r.is_hooks_own]
    if pattern is not None:
        found = [r for r in found if fnmatchcase(r.name, pattern) or fnmatchcase(r.name.partition("_v")[0], pattern)]
    return [r for r in found if is_wrong(r)] if wrong else found


def is_wrong(request: Request) -> bool:
    return request.verdict.word not in ("", "hooked", "runtime", "real") and not judge.is_left_to_the_driver(request)


def none_such(pattern: str | None, own: bool) -> str:
    if chosen(pattern, own, wrong=False):
        return "Nothing wrong was seen."
    return f"Nobody asked for {pattern}." if pattern else ""


def left_out(pattern: str | None, own: bool) -> str:
    count = sum(map(judge.is_left_to_the_driver, chosen(pattern, own, wrong=False)))
    return f"{count} more went to the driver, for functions that the hook does not have." if count else ""


def show(found: list[Request], remark: str) -> str:
    log = request_log.LOG()
    if not log.book.count:
        return (
            "No request was seen" + ("" if request_log.is_on() else "; the log is off (cuda-dlsym log on)") + why_none()
        )
    table = report.table(found, stops.paint) if found else ""
    said = (table, remark, report.summary(log.book.requests), report.cost(log.stops, log.seconds))
    return "\n".join(filter(None, said))


def why_none() -> str:
    return ": a core file makes no requests" if process.connection() == "core" else "."


def as_lines(found: list[Request]) -> str:
    return "\n".join(jsonlib.dumps(request.as_json()) for request in found)


def save(path: str | None, found: list[Request]) -> str:
    """On the machine of the debugger."""
    if not path:
        raise UserError("save where? cuda-dlsym log save FILE")
    user_files.save(os.path.expanduser(path), as_lines(found) + "\n" if found else "")
    return f"{len(found)} requests in {visible(path)}, one JSON object a line."
