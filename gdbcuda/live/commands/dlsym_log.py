"""``cuda-dlsym log``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import gdb

from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import Options, flag, optional_word, word
from gdbcuda.files import user_files
from gdbcuda.live import process
from gdbcuda.live.dlsym import request_log, wanted_requests
from gdbcuda.live.frames.session_types import FUNCTION
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import stops
from gdbcuda.routes import judge
from gdbcuda.routes.reports import request_report as report
from gdbcuda.text.json_text import json_text
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request


class RequestLogOptions(Options):
    own: bool = flag("the hook's own requests too", "--self")
    wrong: bool = flag("only what is missing or wrong, or went past a function that the hook has")
    json: bool = flag("one JSON object a line, as save writes it")


class RequestShowOptions(RequestLogOptions):
    name: str | None = optional_word(FUNCTION, "names to show (a glob)")


class RequestSaveOptions(Options):
    file: str = word(FILE, "the file to write, on the machine of the debugger")
    wrong: bool = flag("only what is missing or wrong, or went past a function that the hook has")


@command("cuda-dlsym log", RequestLogOptions, prefix=True)
def cuda_dlsym_log(wanted: RequestLogOptions) -> str:
    """Log requests for functions by name, and judge the answers.

    The log sees dlsym and dlvsym of every object, cuGetProcAddress, cudaGetDriverEntryPoint and
    cuGetExportTable; dlopen and dlmopen too, with the path as it was asked for and where the object was found.
    What fails has the text of dlerror. The log sees them from the moment it is on. Switch it on before run to
    see all. The program is stopped for an instant at each request and at its return. That costs half a
    millisecond each, more through gdbserver. 'show' says what it was. Nothing else is slower.

    The subcommands are on, off, show, save and clear. Without one it does what show does.

    The verdicts: hooked; driver (past the hook); other; missing; wrong version (not the function that this
    name means at this version and these flags); wrong object (not of the library that the handle stands for,
    or the hook's own function given to itself).

    Examples:
      cuda-dlsym log on
      cuda-dlsym log show
      cuda-dlsym log show 'cuMem*' --wrong
      cuda-dlsym log save /tmp/requests.jsonl
      cuda-dlsym log off"""
    return shown(None, wanted)


@command("cuda-dlsym log show", RequestShowOptions)
def cuda_dlsym_log_show(wanted: RequestShowOptions) -> str:
    """Show the requests, with who asked whom and the answer.

    Examples:
      cuda-dlsym log show
      cuda-dlsym log show 'cuMem*' --wrong
      cuda-dlsym log show --self --json"""
    return shown(wanted.name, wanted)


@command("cuda-dlsym log on", needs="stopped")
def cuda_dlsym_log_on() -> str:
    """Log requests from now on, or from the program's start.

    Examples:
      cuda-dlsym log on"""
    request_log.switch_on()
    places = len(request_log.PLANTED().entries)
    return f"Requests are logged{f' at {places} resolvers' if places else ' from the start of the program'}."


@command("cuda-dlsym log off", needs="stopped")
def cuda_dlsym_log_off() -> str:
    """Log no more requests; those seen so far stay until clear.

    Examples:
      cuda-dlsym log off"""
    request_log.switch_off()
    return f"Requests are not logged any more; {request_log.LOG().book.count} so far (cuda-dlsym log show)."


@command("cuda-dlsym log clear", needs="stopped")
def cuda_dlsym_log_clear() -> str:
    """Forget the requests seen so far; the log goes on.

    Examples:
      cuda-dlsym log clear"""
    request_log.LOG.forget(gdb.selected_inferior().num)
    return "The log of requests is empty."


@command("cuda-dlsym log save", RequestSaveOptions)
def cuda_dlsym_log_save(wanted: RequestSaveOptions) -> str:
    """Write the requests to a file: one JSON object a line.

    The hook's own requests are among them.

    Examples:
      cuda-dlsym log save /tmp/requests.jsonl
      cuda-dlsym log save /tmp/requests.jsonl --wrong"""
    found = chosen(None, True, wanted.wrong)
    user_files.save(wanted.file, as_lines(found) + "\n" if found else "")
    return f"{len(found)} requests in {visible(wanted.file)}, one JSON object a line."


def shown(pattern: str | None, wanted: RequestLogOptions) -> str:
    found = chosen(pattern, wanted.own, wanted.wrong)
    if wanted.json:
        return as_lines(found)
    if not found:
        return show(found, none_such(pattern, wanted.own))
    return show(found, left_out(pattern, wanted.own) if wanted.wrong else "")


def chosen(pattern: str | None, own: bool, wrong: bool) -> list[Request]:
    """In order; for a pattern, those whose name or base name matches it."""
    everything = request_log.LOG().book.requests
    found = [one for one in everything if own or not one.is_hooks_own or (wrong and is_misled(one))]
    if pattern is not None:
        found = [r for r in found if fnmatchcase(r.name, pattern) or fnmatchcase(r.name.partition("_v")[0], pattern)]
    return [r for r in found if is_wrong(r)] if wrong else found


def is_misled(request: Request) -> bool:
    """Of the hook's own: what it was given is not what it has asked for, as with another hook library behind it."""
    return request.verdict.word in report.MISLEADING


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
        off = "" if wanted_requests.is_on() else "; the log is off (cuda-dlsym log on)"
        return f"No request was seen{off}{why_none()}"
    table = report.table(found, stops.paint) if found else ""
    said = (table, remark, report.summary(log.book.requests), report.cost(log.stops, log.seconds))
    return "\n".join(filter(None, said))


def why_none() -> str:
    return ": a core file makes no requests" if process.connection() == "core" else "."


def as_lines(found: list[Request]) -> str:
    return "\n".join(json_text(request.as_json()) for request in found)
