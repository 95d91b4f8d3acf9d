"""``cuda-route``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbcuda.command_line.options import WideOptions, flag, optional_word
from gdbcuda.errors import UserError
from gdbcuda.live.checking import routes_here
from gdbcuda.live.frames.session_types import FUNCTION
from gdbcuda.live.layers import names
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.process.objects import core_files
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import stops
from gdbcuda.routes.reports import route_report
from gdbcuda.text import fitting
from gdbcuda.text.json_text import json_text
from gdbcuda.text.sentences import some

if TYPE_CHECKING:
    from gdbcuda.routes.collect import Route
    from gdbcuda.routes.snapshot import ProcessSnapshot


ASKED = "What is asked of dlsym shows with  cuda-dlsym log on, before the run."


class RouteOptions(WideOptions):
    function: str | None = optional_word(FUNCTION, "API function, base name or glob ('cuMem*'), or exported name")
    app: bool = flag("what the program itself refers to, not its libraries")
    all: bool = flag(
        "each place; the hook's and the driver's own references too, and functions that nobody refers to"
    )
    null: bool = flag("only the hook's own pointers to the real functions that are NULL, and why")
    unhooked: bool = flag("only what goes past the hook, allocation functions first")
    json: bool = flag("as one JSON object")


@command("cuda-route", RouteOptions, purpose="check", needs="stopped")
def cuda_route(wanted: RouteOptions) -> str:
    """Show which implementation answers: per function, and per way of reaching it.

    The command works at any stop, also before the first call, and on a core file. PLT and GOT slots are read
    from memory. A slot that is "not called yet" is looked up as the loader will do it. A pointer is one that
    the program, the runtime or the hook has stored in its variables. While cuda-dlsym log is on, the answers
    of dlsym and cuGetProcAddress are added.

    Places of one function that lead to the same are one row; --all has a row for each. Where the rows do not
    fit a screen, functions that are alike are one; '*' has a row for each function.

    The verdicts: hooked; driver (past the hook); runtime; other; missing; wrong version; real (the hook's own
    way on).

    Examples:
      cuda-route
      cuda-route cuMemAlloc
      cuda-route --unhooked
      cuda-route --null
      cuda-route 'cuMem*' --all --json"""
    snapshot = answer_search.notice_all()
    if wanted.null:
        return null_pointers(snapshot, wanted)
    routes = routes_here.routes(snapshot, wanted.function, wanted.app, wanted.all)
    shown = routes_here.past_the_hook(snapshot, routes) if wanted.unhooked else routes
    if wanted.json:
        return as_json(snapshot, shown, route_report.summary(snapshot, routes))
    if not shown:
        return "\n".join([nothing(snapshot, wanted), *core_files.advice()])
    return "\n".join([*shown_routes(snapshot, wanted, routes, shown), *core_files.advice()])


def shown_routes(snapshot: ProcessSnapshot, wanted: RouteOptions, routes: list[Route], shown: list[Route]) -> list[str]:
    """What is about all functions fits a screen."""
    summary = route_report.summary(snapshot, routes)
    head = [route_report.head(snapshot, shown)] if wanted.unhooked else []
    if wanted.function is not None or wanted.all:
        is_each = wanted.all or not names.is_glob(str(wanted.function))
        table = route_report.table(shown, stops.paint, is_each, wanted.wide)
        if not is_each or wanted.all or fitting.lines_on_screen(table) <= fitting.SCREEN:
            return [*head, table, summary]
        each = f"A row stands for all places that lead to the same; cuda-route {wanted.function} --all has each."
        return [*head, route_report.table(shown, stops.paint, is_each=False, is_wide=wanted.wide), each, summary]
    table, is_folded = route_report.screenful(snapshot, shown, stops.paint, wanted.wide)
    return [summary, *head, table, each_has_a_row(wanted)] if is_folded else [*head, table, summary]


def each_has_a_row(wanted: RouteOptions) -> str:
    """Under a table that is folded to a screen."""
    options = "".join(f" {name}" for name, is_on in (("--app", wanted.app), ("--unhooked", wanted.unhooked),
                                                     ("--null", wanted.null)) if is_on)  # fmt: skip
    return f"A row with \"and N more\" stands for functions that are alike; cuda-route{options} '*' has a row for each."


def null_pointers(snapshot: ProcessSnapshot, wanted: RouteOptions) -> str:
    if wanted.app or wanted.unhooked:
        raise UserError("--null is about the hook's own pointers: without --app, --unhooked")
    found = routes_here.null_pointers(snapshot, wanted.function)
    summary = f"{len(found)} pointer{'' if len(found) == 1 else 's'} of the hook to real functions "
    summary += "is NULL." if len(found) == 1 else "are NULL."
    if wanted.json:
        return as_json(snapshot, found, summary)
    if not snapshot.hooks:
        raise UserError("no hook library is loaded (cuda-load LIB)")
    if not found:
        return routes_here.no_null_pointers(snapshot)
    table = route_report.table(found, stops.paint, is_wide=wanted.wide)
    if wanted.function is not None or wanted.all or fitting.lines_on_screen(table) <= fitting.SCREEN:
        return "\n".join([table, summary])
    table, _ = route_report.screenful(snapshot, found, stops.paint, wanted.wide)
    return "\n".join([summary, table, each_has_a_row(wanted)])


def nothing(snapshot: ProcessSnapshot, wanted: RouteOptions) -> str:
    pattern = wanted.function
    if wanted.unhooked:
        return "Nothing goes past the hook."
    where = "the program" if wanted.app else "this process"
    if pattern and names.is_glob(pattern):
        return f"Nothing in {where} refers to {pattern} by name yet; what a new reference would find: --all"
    if pattern is None:
        return f"Nothing in {where} refers to the CUDA and NVML API by name.\n{ASKED}"
    having = routes_here.defining(snapshot, pattern)
    if not having:
        return f"Nothing in {where} refers to {pattern}, and no loaded object defines it."
    have = "has" if len(having) == 1 else "have"
    return f"Nothing in {where} refers to {pattern} by name; {some(having)} {have} it.\n{ASKED}"


def as_json(snapshot: ProcessSnapshot, routes: list[Route], summary: str) -> str:
    return json_text({
        "hooks": [snapshot.file_of(hook) for hook in snapshot.hooks],
        "cuda": snapshot.table.cuda,
        "nvml": snapshot.table.nvml,
        "summary": summary,
        "routes": [route.as_json() for route in routes],
    })
