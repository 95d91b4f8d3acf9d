"""What ``cuda-break`` makes: an ordinary gdb breakpoint that is ours, from what was asked; anew or from a saved one."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Container

import gdb

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.errors import UserError
from gdbcuda.live import breakpoints, layers, process
from gdbcuda.live.breaking import gdb_conditions
from gdbcuda.live.breaking.break_options import BreakOptions
from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.live.breakpoints.ours import BreakWish
from gdbcuda.live.frames import condition_words, frames
from gdbcuda.live.guarding import guards
from gdbcuda.live.host.expressions import quoted
from gdbcuda.live.layers import library_files, names, own_prototypes, table_version, variants
from gdbcuda.live.prompt import command
from gdbcuda.live.stopping import counting
from gdbcuda.live.stopping.returning import returns
from gdbcuda.live.threads import children
from gdbcuda.machine import abi
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern
from gdbcuda.text.sentences import some

MOST_FRAMES = 200
CALLER = pattern(r"\bcaller\b")


class BreakRequest:
    """What was asked beside the functions."""

    def __init__(
        self, places: tuple[str, ...], callers: tuple[str, ...], on: str = "enter", once: bool = False,
        count: bool = False, text: str | None = None,
    ) -> None:  # fmt: skip
        self.places, self.is_from_given = places, bool(callers)
        self.callers = ",".join(callers) or self.usual_callers()
        self.on, self.once, self.count, self.text = on, once, count, text
        if self.once and self.on != "enter":
            raise UserError("--once goes with --on enter: the breakpoint at the return is another one")

    def usual_callers(self) -> str:
        """In the hook the program's calls, not the hook's own; behind the hook nearly all calls are the hook's. Of a
        release build nothing else is ever seen than what it hands on."""
        is_behind = bool(self.places) or any(map(library_files.hides_all, layers.hooks()))
        return "any" if is_behind and self.places != ("hook",) else "app"

    def by_anyone(self) -> BreakRequest:
        return BreakRequest(self.places, ("any",), self.on, self.once, self.count, self.text)

    def calls(self, is_exact: bool) -> variants.WantedCalls:
        callers = ("any",) if CALLER.search(self.text or "") else cplusplus.listed(self.callers)
        return variants.WantedCalls(self.places, callers, is_exact)

    def parse(self, symbols: list[str], optional: Container[str] = ()) -> conditions.Condition | None:
        """Checked before anything is made; a function that is not in the table takes gdb's own expressions. The
        condition leaves out what it does not fit among those that a glob has named, the ``optional`` ones."""
        known = [f for f in map(own_prototypes.prototype, symbols) if f is not None]
        if self.text is None or not known:
            return None
        if not any(map(names.prototype, symbols)):
            return self.of_own(symbols, known)
        condition = conditions.parse(self.text, table_version.table(), known, optional)
        condition_words.refuse_unknown(condition)
        if condition.callers and not self.is_from_given:
            self.callers = "any"  # "caller in hook" would never hold among the program's calls
        return condition

    def of_own(self, symbols: list[str], known: list[api.Function]) -> conditions.Condition | None:
        """On functions of the hook library: what is on their parameters alone. Else gdb reads it."""
        if len(known) < len(symbols):
            return None
        try:
            return conditions.parse(self.text or "", table_version.table(), known)
        except UserError:
            return None

    def refuse_returns(self, symbols: list[str]) -> None:
        """What returns is a status or a value of the API."""
        others = [symbol for symbol in symbols if names.function_named(symbol) is None]
        if self.on == "return":
            others = [symbol for symbol in others if symbol in names.EXTRA or own_prototypes.own(symbol) is None]
        if self.on == "enter" or not others:
            return
        if others[0] in names.EXTRA or self.on == "error":
            see = " (for dlsym: cuda-dlsym log on)" if others[0] in names.EXTRA else ": --on return shows its result"
            raise UserError(f"--on {self.on} is for functions of the API, which {others[0]} is not{see}")
        raise UserError(f"--on return: what {others[0]} returns is not known (no debug info, or inlined, or several)")

    def take_any_caller(self, symbols: list[str]) -> str:
        """What is no function of the API the hook itself calls: what to say of that, "" for functions of the API."""
        if any(map(names.prototype, symbols)):
            return ""
        if self.is_from_given:
            return ""
        self.callers = "any"
        return f"\n  ({some(symbols)}: {what_else(symbols)}; called by anyone, --from says otherwise)"

    def words(self, symbol: str, condition: conditions.Condition | None) -> str:
        """Of a command that asks for the same."""
        text = condition.text if condition is not None else self.text
        exact = " --exact" if is_base_of_others(symbol) else ""
        return f"cuda-break {shlex.quote(symbol)}{exact} {self.options()}" + (f" if {text}" if text else "")

    def options(self) -> str:
        found = ["--from", self.callers]
        found += ["--in", ",".join(self.places)] if self.places else []
        found += ["--on", self.on] if self.on != "enter" else []
        return " ".join([*found, *["--once"] * self.once, *["--count"] * self.count])


def what_else(symbols: list[str]) -> str:
    """Than a function of the API, as it is now."""
    newer = [table_version.table().source_symbol(one) for one in symbols]
    is_of_older_headers = not any(now == before for now, before in zip(newer, symbols))
    return f"in older headers, now {some(newer)}" if is_of_older_headers else "no function of the API"


def request_of(wanted: BreakOptions) -> BreakRequest:
    return BreakRequest(
        wanted.places, wanted.callers, wanted.on, wanted.once, wanted.count, wanted.condition
    )


def is_base_of_others(symbol: str) -> bool:
    """cuMemAlloc alone would mean cuMemAlloc_v2 as well."""
    return [one.symbol for one in table_version.table().find(symbol)] not in ([], [symbol])


def make(symbol: str, request: BreakRequest, condition: conditions.Condition | None) -> gdb.Breakpoint:
    native = native_condition(symbol, request, condition, breakpoints.next_number())
    made = breakpoints.create(wish_of(symbol, request, condition), native, request.once)
    guards.want(made, native, symbol, condition, request.callers, request.count, request.on == "error")
    children.get_ready()
    if request.on != "enter" and process.is_alive() and not process.is_thread_running():
        expect_open_calls(made, request, condition)
    return made


def adopt(one: gdb.Breakpoint, words: str) -> None:
    """A breakpoint that gdb has made of a saved one."""
    wanted = command.read("cuda-break", BreakOptions, words)
    (asked,) = wanted.function
    (symbol,) = variants.resolve(asked, variants.WantedCalls()) if names.is_glob(asked) else [asked]
    request = request_of(wanted)
    request.take_any_caller([symbol])
    condition = request.parse([symbol])
    native = native_condition(symbol, request, condition, one.number)
    breakpoints.adopt(one, wish_of(symbol, request, condition), native)
    guards.want(one, native, symbol, condition, request.callers, request.count, request.on == "error")


def wish_of(symbol: str, request: BreakRequest, condition: conditions.Condition | None) -> BreakWish:
    in_hook = not request.places and any(names.defines(path, symbol) for path in layers.named_hooks())
    return BreakWish(symbol, request.places, in_hook, request.words(symbol, condition))


def native_condition(symbol: str, request: BreakRequest, condition: conditions.Condition | None, number: int) -> str:
    return " && ".join(gdb_terms(symbol, request, condition, number))


def gdb_terms(symbol: str, request: BreakRequest, condition: conditions.Condition | None, number: int) -> list[str]:
    """The terms of the breakpoint's native condition, cheapest test first."""
    terms, count = [], ""
    function = own_prototypes.prototype(symbol)
    if condition is not None and function is not None:
        native = condition.to_gdb(function, abi.locate(function, process.machine()))
        terms, count = list(native.terms), native.count
    elif request.text:
        terms.append(f"({gdb_conditions.in_bytes(request.text)})")
    if request.callers != "any":
        terms.append(f"$_cuda_from({quoted(request.callers)})")
    if count:
        terms.append(f"$_cuda_count({number}, {quoted(count)})")
    if request.on != "enter":
        terms.append(f"$_cuda_returns({number}, {quoted(request.on)})")
    return terms


# -- the calls that are open when the breakpoint is made


def expect_open_calls(made: gdb.Breakpoint, request: BreakRequest, condition: conditions.Condition | None) -> None:
    """Calls that the selected thread is in already have passed their entry; their returns are wanted all the same."""
    places = {p.file for p in locations.of(made) if p.enabled}
    symbol = ours.wish(made.number).function
    for frame in frames.innermost(MOST_FRAMES):
        function = frames.api_function(frame)
        if function is None or function.symbol != symbol or frames.place_of(frame).file not in places:
            continue
        count = functools.partial(counting.one_more, made.number)
        if condition_words.is_meant(request.callers, condition, count, frames.read_call(frame)):
            returns.expect_frame(frame, made.number, request.on == "error")
