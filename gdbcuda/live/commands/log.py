"""``cuda-log`` and its subcommands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gdbcuda import condition as conditions
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.layers import condition_words, names, table_version
from gdbcuda.live.layers.arguments import CALLERS, FUNCTION, LAYERS, THREAD
from gdbcuda.live.prompt.command import command, need
from gdbcuda.live.recording import call_log, fast
from gdbcuda.log import options as shared
from gdbcuda.log import select
from gdbcuda.log import tree as trees
from gdbcuda.text import render
from gdbcuda.text.arguments import FILE, NUMBER
from gdbcuda.text.options import Options, as_condition, as_words, condition, flag, of_kind, option, word, words
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.api import Function
    from gdbcuda.calls.reader import Event
    from gdbcuda.calls.record import Call
    from gdbcuda.live.recording.footprint import RecordWish

SHOWN = 40


@command("cuda-log", prefix=True, purpose="record")
def cuda_log() -> str:
    """Record the calls of the CUDA and NVML API, and say what is being recorded.

    The subcommands start and stop the recorder, show what was recorded, sum it up and save it.

    Examples:
      cuda-log start
      run
      cuda-log show --tree
      cuda-log summary"""
    session = call_log.SESSION
    kept = len(session.kept.calls)
    lines = [f"{kept} calls kept" + (f", {session.kept.lost} earlier ones are not" if session.kept.lost else "")]
    if session.recorder is None:
        return f"The recorder is off; {lines[0]}. (cuda-log start)"
    recorder = session.recorder
    how = "jumps to the recorder in the process" if fast.is_fast(recorder) else "breakpoints that never stop"
    lines.insert(0, f"Recording {wish_text(recorder.wish)} by {recorder.places()} {how}")
    if session.file is not None:
        why_not = ", which could not be written to the end" if session.file.is_broken else " as they happen"
        lines.append(f"written to {visible(session.file.path)}{why_not}")
    if recorder.missed:
        lines.append(f"{recorder.missed} stops could not be read")
    return "; ".join(lines) + "." + (fast.remark(recorder) if fast.is_fast(recorder) else "")


class StartOptions(Options):
    function: list[str] = words(
        FUNCTION, "API functions: symbols, base names, globs (default: all but what registers kernels)"
    )
    places: tuple[str, ...] = option(LAYERS, "record these layers or libraries alone", "--in", default=())
    callers: tuple[str, ...] = option(
        CALLERS, "whose calls: app, hook, runtime, a library (default: any)", "--from", default=()
    )
    stack: int = option(NUMBER, "keep N frames of the backtrace of each call", default=0)
    to: str | None = option(FILE, "write every call to FILE as it happens")
    memory: bool = flag("what allocates, frees, copies and fills: all that cuda-memory needs")
    fast: bool = flag("the process itself notes the calls, some 30 ns each, and is read where it stops")
    condition: str | None = condition(
        condition_words.complete, "only calls for which COND holds; it is evaluated in the debugger"
    )


@command("cuda-log start", StartOptions, needs="stopped")
def cuda_log_start(wanted: StartOptions) -> str:
    """Record calls from now on; before run, or at any stop.

    Each call costs two stops of the program that nobody sees. Breakpoints and stepping go on as usual. The
    calls of one thread nest: the program calls the runtime, the runtime the hook, the hook the driver.

    Left out is what nvcc's start-up code calls for each kernel, as __cudaRegisterFunction: large programs do
    so 50,000 times. Name it, or '*', to have it too.

    Examples:
      cuda-log start
      cuda-log start 'cuMem*' --in hook,driver
      cuda-log start cudaMalloc --stack 8 if size > 1M
      cuda-log start --memory --to calls.jsonl"""
    wish = make_wish(wanted)
    if wanted.fast:
        fast.require_possible(wish)
    recorder = call_log.start(wish, wanted.to, wanted.fast)
    planted = f", {recorder.places()} places" if process.is_alive() else ", from the next run on"
    return f"Recording {wish_text(wish)}{planted}." + (fast.remark(recorder) if wanted.fast else "")


def make_wish(wanted: StartOptions) -> RecordWish:
    from gdbcuda.live.recording.footprint import RecordWish  # loaded when first used

    table = table_version.table()
    symbols = {f.symbol for pattern in wanted.function for f in table.find(pattern) or names.unknown(pattern, table)}
    if wanted.memory:
        from gdbcuda import ledger

        symbols |= {f.symbol for f in table.functions.values() if ledger.matters(f)}
    releases = frozenset() if wanted.callers or wanted.condition else unnamed_releases(symbols)
    symbols = symbols | releases or {f.symbol for f in table.find("*") if not registers_code(f)}
    condition = parsed(wanted.condition, wanted.function, symbols) if wanted.condition else None
    if condition is not None:
        symbols = {symbol for symbol in symbols if condition.fits(symbol)}
    return RecordWish(frozenset(symbols), wanted.places, wanted.callers, wanted.stack, condition, releases)


def registers_code(function: Function) -> bool:
    """What nvcc's start-up code calls: 50,000 times before PyTorch's first line, and nobody has written one of them."""
    return function.role == "module" and function.symbol.startswith("__cuda")


def unnamed_releases(symbols: set[str]) -> frozenset[str]:
    """Without them nobody could say what is still live."""
    from gdbcuda import ledger

    return frozenset(ledger.releases_of(symbols, table_version.table()) - symbols)


def parsed(text: str, patterns: list[str], symbols: set[str]) -> conditions.Condition:
    if not patterns:
        example = "cuda-log start cuMemAlloc if bytesize > 1G"
        raise UserError(f"a condition is on the parameters of functions: name those to record, as in  {example}")
    table = table_version.table()
    functions = [f for f in map(table.function, sorted(symbols)) if f is not None]
    globbed = {f.symbol for pattern in patterns if names.is_glob(pattern) for f in table.find(pattern)}
    found = conditions.parse(text, table, functions, globbed)
    condition_words.refuse_unknown(found)
    return found


def wish_text(wish: RecordWish) -> str:
    named = wish.functions - wish.releases
    what = next(iter(named)) if len(named) == 1 else f"{len(named)} functions"
    what += f" and {len(wish.releases)} that release what they hand out" if wish.releases else ""
    where = f" in {', '.join(wish.places)}" if wish.places else ""
    who = f" called from {', '.join(wish.callers)}" if wish.callers else ""
    return f"{what}{where}{who}" + (f" if {wish.condition.text}" if wish.condition else "")


need("recorder", lambda: call_log.SESSION.require())  # (the log is loaded when first used)


@command("cuda-log stop", needs="recorder")
def cuda_log_stop() -> str:
    """Stop recording; what was recorded stays until cuda-log clear.

    Examples:
      cuda-log stop"""
    call_log.stop()
    return cuda_log()


@command("cuda-log clear")
def cuda_log_clear() -> str:
    """Forget the calls recorded so far; the recorder goes on.

    Examples:
      cuda-log clear"""
    count = len(call_log.SESSION.kept.calls)
    call_log.clear()
    return f"{count} calls forgotten."


class LogSaveOptions(Options):
    file: str = word(FILE, "the file to write")


@command("cuda-log save", LogSaveOptions)
def cuda_log_save(wanted: LogSaveOptions) -> str:
    """Write the calls kept so far to a file, for 'gdbcuda log'.

    'cuda-log start --to FILE' writes each call as it happens.

    Examples:
      cuda-log save calls.jsonl"""
    count = call_log.save(wanted.file)
    return f"{count} calls written to {visible(wanted.file)}."


def complete_recorded(words: list[str], before: list[str], token: str) -> Iterable[str]:
    """On the functions that are named, else on those that are recorded."""
    named = [word for word in words if table_version.table().find(word.strip("'\""))]
    recorded = {call.name for call in call_log.SESSION.kept.calls}
    return condition_words.complete(named or sorted(recorded), before, token)


class SessionOptions(shared.FilterOptions):
    function: list[str] = as_words(shared.FilterOptions.function, FUNCTION)
    places: tuple[str, ...] = of_kind(shared.FilterOptions.places, LAYERS)
    thread: int | None = of_kind(shared.FilterOptions.thread, THREAD)
    condition: str | None = as_condition(shared.FilterOptions.condition, complete_recorded)


class LogShowOptions(shared.ShowOptions, SessionOptions):
    pass


@command("cuda-log show", LogShowOptions)
def cuda_log_show(wanted: LogShowOptions) -> str:
    """Show recorded calls, with time, thread, layer and caller.

    Without --last the newest 40, with --json all.

    Examples:
      cuda-log show
      cuda-log show --tree --last 100
      cuda-log show --changed
      cuda-log show cudaMalloc --failed
      cuda-log show --failed --json
      cuda-log show if bytesize > 1M && caller in hook"""
    calls = list(call_log.SESSION.kept.calls)
    chosen = make_filter(wanted)
    if wanted.json:
        return as_json(calls, chosen, wanted)
    shown = "\n".join(filter(None, (view(calls, chosen, wanted), chosen.remark())))
    return render.fold(shown, render.screen())


def as_json(calls: list[Call], chosen: select.CallFilter, wanted: LogShowOptions) -> str:
    """Of trees the calls, one by one: depth and parent tell how they nest."""
    from gdbcuda.calls import data
    from gdbcuda.log import changes, view_data

    writer, count = call_log.writer(), wanted.last or 0
    if wanted.changed:
        several = changes.Changes(writer, chosen.takes).find(trees.roots(calls))
        found = [view_data.changes(*one, writer) for one in several]
    elif wanted.tree:
        outermost = select.last(roots(calls, chosen), count)
        found = [data.call(node.call, writer) for root in outermost for node in root.walk()]
    else:
        found = [data.call(one, writer) for one in select.last([call for call in calls if chosen.takes(call)], count)]
    return "\n".join(map(data.line, found))


def roots(calls: list[Call], chosen: select.CallFilter) -> list[trees.CallNode]:
    """The outermost calls in which there is one that is wanted."""
    return [root for root in trees.roots(calls) if any(chosen.takes(node.call) for node in root.walk())]


def make_filter(wanted: shared.FilterOptions) -> select.CallFilter:
    table, notes = table_version.table(), call_log.SESSION.kept.notes
    chosen = select.CallFilter.of(wanted)
    chosen.refuse_unknown(table)
    return chosen.with_condition(wanted.condition, table, notes)


def nothing_recorded() -> str:
    if not call_log.can_record():
        return f"Nothing was recorded, and {call_log.NO_CALLS}."
    return "Nothing is recorded yet." if call_log.SESSION.recorder else "Nothing is recorded: cuda-log start"


def view(calls: list[Call], chosen: select.CallFilter, wanted: LogShowOptions) -> str:
    from gdbcuda.log import changes

    if not calls:
        return nothing_recorded()
    writer, count = call_log.writer(), SHOWN if wanted.last is None else wanted.last
    if wanted.changed:
        return "\n".join(changes.Changes(writer, chosen.takes).texts(trees.roots(calls)))
    if wanted.tree:
        outermost = roots(calls, chosen)
        there, shown = len(outermost), [trees.text(root, writer) for root in select.last(outermost, count)]
    else:
        found = [call for call in calls if chosen.takes(call)]
        line = writer.with_stack if wanted.stack else writer.line
        there, shown = len(found), [line(call) for call in select.last(found, count)]
    left = there - len(shown)
    return "\n".join([f"... {left} earlier (--last 0 shows all)"] * bool(left) + shown) or "No call like that."


class LogSummaryOptions(shared.SummaryOptions, SessionOptions):
    pass


@command("cuda-log summary", LogSummaryOptions)
def cuda_log_summary(wanted: LogSummaryOptions) -> str:
    """Sum up the calls: counts, times, bytes, kernels, callers.

    The times are the debugger's. Each call includes the cost of its own two stops and of those of the calls
    inside it.

    Examples:
      cuda-log summary
      cuda-log summary --in driver
      cuda-log summary if caller in libtorch*.so"""
    from gdbcuda.calls import data
    from gdbcuda.log import summary, view_data

    chosen = make_filter(wanted)
    writer = call_log.writer()
    writer.is_wide = wanted.wide
    told = events(list(call_log.SESSION.kept.calls))
    meant = told if chosen == select.CallFilter() else trees.some(told, chosen.takes)
    found = summary.Summary(writer.table, writer.notes).feed(meant)
    if wanted.json:
        return data.line(view_data.summary(found, writer))
    return "\n\n".join(filter(None, (summary.text(found, writer, wanted.all), chosen.remark())))


def events(calls: list[Call]) -> Iterator[Event]:
    """As a file would tell them; what is open is told to end as such."""
    from gdbcuda.calls.reader import BEGIN, END
    from gdbcuda.calls.sinks import in_order

    for is_end, call in in_order(calls):
        yield (END if is_end else BEGIN), call
    yield from ((END, call) for call in calls if call.end is None)
