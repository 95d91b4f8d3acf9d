"""``cuda-dlsym break``."""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.options import Options, flag, option, optional_word
from gdbcuda.errors import UserError
from gdbcuda.live import breakpoints, layers
from gdbcuda.live.breaking import from_request
from gdbcuda.live.breaking.break_options import ADOPTERS
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.commands import breaks
from gdbcuda.live.dlsym import request_stops, request_values
from gdbcuda.live.frames.session_types import CALLERS, FUNCTION, LAYERS
from gdbcuda.live.guarding import guards
from gdbcuda.live.host import expressions
from gdbcuda.live.layers import library_files, names, table_version, variants
from gdbcuda.live.prompt import command as commands
from gdbcuda.live.prompt.command import command
from gdbcuda.text.printable import visible


def complete_resolvers(token: str) -> Iterable[str]:
    return request_values.resolver_shapes()


def resolver(typed: str) -> str:
    if typed not in request_values.resolver_shapes():
        raise UserError(f"{typed!r} resolves no names; one of {', '.join(request_values.resolver_shapes())}")
    return typed


RESOLVER = ArgumentType("RESOLVER", resolver, complete=complete_resolvers)


class RequestBreakOptions(Options):
    symbol: str | None = optional_word(FUNCTION, "the name asked for: a symbol, base name or glob (default: any)")
    places: tuple[str, ...] = option(
        LAYERS, "whose implementation: a layer or library (default: the hook's, else the outermost)", "--in", default=()
    )
    callers: tuple[str, ...] = option(
        CALLERS, "who asks: app (program and its libraries; the default in the hook's), hook, any, or a library",
        "--from", default=(),
    )  # fmt: skip
    by: str = option(RESOLVER, "the resolver: dlsym (default), dlvsym, cuGetProcAddress_v2, ...", default="dlsym")
    once: bool = flag("a temporary breakpoint, deleted at its first stop")
    exact: bool = flag("the resolver of exactly that symbol, not all versions of it")


@command("cuda-dlsym break", RequestBreakOptions, needs="stopped")
def cuda_dlsym_break(wanted: RequestBreakOptions) -> str:
    """Break in one dlsym, when it is asked for one name.

    The breakpoint can be made before the program runs. The dlsym of libc, of ld.so and of every other object
    is a location of the breakpoint. Those that were not asked for are switched off. A guard compares the name
    in the process, where there is one (see cuda-guards). A request for another name then costs 0.2 us. In gdb
    it costs 0.7 ms.

    Examples:
      cuda-dlsym break cuMemAlloc_v2
      cuda-dlsym break 'nvml*' --from any
      cuda-dlsym break --in libc.so.6 --from hook
      cuda-dlsym break cuMemAlloc --by cuGetProcAddress_v2"""
    calls = AwaitedRequest(wanted, wanted.by).request.calls(wanted.exact)
    asked = [AwaitedRequest(wanted, symbol) for symbol in variants.resolve(wanted.by, calls)]
    with breakpoints.pending_allowed():
        made = [one.create() for one in asked]
    guards.refresh()
    rows = [summary(number, one.request, wanted.symbol) for number, one in zip(made, asked)]
    return "\n".join(rows) + unusual(wanted.symbol)


class AwaitedRequest:
    """For which name, of which resolver: a symbol."""

    def __init__(self, wanted: RequestBreakOptions, by: str) -> None:
        self.symbol, self.by = wanted.symbol, by
        self.request = from_request.BreakRequest(wanted.places, wanted.callers, once=wanted.once)

    def create(self) -> gdb.Breakpoint:
        native = self.native(breakpoints.next_number())
        made = breakpoints.create(self.wish(), native, self.request.once)
        self.want_guard(made, native)
        return made

    def native(self, number: int) -> str:
        terms = [f"$_cuda_asks({expressions.quoted(self.symbol)})"] if self.symbol else []
        return " && ".join([*terms, *from_request.gdb_terms(self.by, self.request, None, number)])

    def wish(self) -> ours.BreakWish:
        exported = (library_files.exported(path) for path in layers.named_hooks())
        in_hook = not self.request.places and any(self.by in found for found in exported)
        return ours.BreakWish(self.by, self.request.places, in_hook, self.words())

    def words(self) -> str:
        """Of a command that asks for the same."""
        name = f"{expressions.quoted(self.symbol)} " if self.symbol else ""
        exact = " --exact" if len(names.resolve(self.by)) > 1 else ""  # a base name would mean them all
        return f"cuda-dlsym break {name}--by {self.by}{exact} {self.request.options()}"

    def want_guard(self, made: gdb.Breakpoint, native: str) -> None:
        argument = request_values.resolver_shapes()[self.by].name or 0
        guards.want_name(made, native, argument, self.symbol, self.request.callers)


def adopt(one: gdb.Breakpoint, words: str) -> None:
    """A breakpoint that gdb has made of a saved one."""
    wanted = commands.read("cuda-dlsym break", RequestBreakOptions, words)
    asked = AwaitedRequest(wanted, wanted.by)
    native = asked.native(one.number)
    breakpoints.adopt(one, asked.wish(), native)
    asked.want_guard(one, native)


ADOPTERS["cuda-dlsym break"] = adopt


def summary(made: gdb.Breakpoint, request: from_request.BreakRequest, symbol: str | None) -> str:
    place = " ".join(breaks.where(made, request)).strip()
    asked = f", asked for {symbol}" if symbol else ""
    resolver = ours.wish(made.number).function
    rest = f"{asked}{breaks.called_from(request)}{breaks.guarded(made)}"
    return visible(f"Breakpoint {made.number}: {resolver} in {place}{rest}")


def unusual(symbol: str | None) -> str:
    """dlsym is asked for all kinds of names: a typo in one of the API's is only worth a word."""
    if symbol is None or names.is_glob(symbol) or not symbol.startswith(("cu", "nvml")):
        return ""
    table = table_version.table()
    if any(request_stops.means(symbol, name) for name in table.functions):
        return ""
    near = table.nearest(symbol)
    return f"\n  ({visible(symbol)} is no name of the API{'; did you mean ' + ', '.join(near) + '?' if near else ''})"
