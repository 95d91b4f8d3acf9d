"""``cuda-log`` and those of its subcommands that record: start, stop, clear, save."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.command_line.argument_types import FILE, FOLDER, NUMBER
from gdbcuda.command_line.options import Options, condition, flag, option, options, word, words
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.frames import condition_words
from gdbcuda.live.frames.session_types import CALLERS, FUNCTION, LAYERS, complete_condition
from gdbcuda.live.layers import names, table_version
from gdbcuda.live.placing import link
from gdbcuda.live.preloading import preload
from gdbcuda.live.prompt.command import command, need
from gdbcuda.live.recording import call_log, fast, nameless_runtime, whole_start
from gdbcuda.rings import ring_functions
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.live.recording.base.footprint import RecordWish


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
    keep: str | None = option(FOLDER, "with --fast: the process keeps its calls in a new folder")
    last: int = option(NUMBER, "with --keep: of each thread the last N calls at least (8192)", default=0)
    python: bool = flag("with --fast: the lines of Python that led to each call that makes memory")
    python_for: list[str] = options(FUNCTION, "with --fast: the same for calls of these functions")
    gpu: bool = flag("with --keep: what the GPU does as well, from the next run on")
    fast: bool = flag("the process itself notes the calls, some 30 ns each, and is read where it stops")
    condition: str | None = condition(
        complete_condition, "only calls for which COND holds; it is evaluated in the debugger"
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
    of_gpu = variables_for_gpu(wanted) if wanted.gpu else {}
    if wanted.keep:
        fast.require_this_machine()
    wish = make_wish(wanted)
    if wanted.fast:
        fast.require_possible(wish)
    elif wanted.keep or wanted.last:
        raise UserError("--keep and --last are of --fast", page="log")
    elif wanted.python or wanted.python_for:
        raise UserError("--python is of --fast: by stops every call has its lines of Python", page="python")
    if wish.folder:
        make_folder(wish.folder)
    missing = nameless_runtime.remark(wish.functions) if not wish.places or "runtime" in wish.places else ""
    with whole_start.all_or_nothing():
        is_at_entry = wanted.fast and process.is_alive() and come_in(wish)
        recorder = call_log.start(wish, wanted.to, wanted.fast, is_at_entry)
        preload.give(of_gpu)
        planted = f", {recorder.places()} places" if process.is_alive() else ", from the next run on"
        gpu = f" What the GPU does: gdbcuda log gpu {visible(str(wanted.keep))}, in a shell." if of_gpu else ""
        return f"Recording {wish_text(wish)}{planted}.{gpu}{missing}" + (fast.remark(recorder) if wanted.fast else "")


def variables_for_gpu(wanted: StartOptions) -> dict[str, str]:
    """Of the next run's environment."""
    from gdbcuda.gpu import gpu_recording

    if not (wanted.keep and wanted.fast):
        raise UserError("--gpu is with --fast --keep FOLDER: there its records go", page="gpu")
    if link.is_cuda_gdb():
        raise UserError(gpu_recording.UNDER_CUDA_GDB, page="gpu")
    if process.is_alive():
        raise UserError("CUPTI comes in when a program initializes CUDA: --gpu is for the next run", page="gpu")
    there = preload.environment(gpu_recording.INJECTION)
    own = {gpu_recording.INJECTION: there} if there else {}
    return {**gpu_recording.environment(own), gpu_recording.FOLDER: os.path.abspath(wanted.keep)}


def come_in(wish: RecordWish) -> bool:
    """Into a process that gdb has attached to. True where the program has been stopped at a function's entry for it."""
    from gdbcuda.live.keeping import bringing, left
    from gdbcuda.live.recording.in_process import kept_folder

    if wish.folder:
        kept_folder.require_seen(wish.folder)
    left.take_out()
    return bringing.bring(wish)


def make_wish(wanted: StartOptions) -> RecordWish:
    from gdbcuda.live.recording.base.footprint import RecordWish  # loaded when first used
    from gdbcuda.shell.trace import python_names

    table = api.load_all()
    symbols = {f.symbol for pattern in wanted.function for f in table.find(pattern) or names.unknown(pattern, table)}
    if wanted.memory:
        from gdbcuda import ledger
        from gdbcuda.calls import captures

        symbols |= {f.symbol for f in table.functions.values() if ledger.matters(f) or captures.bounds(f.symbol)}
    releases = frozenset() if wanted.callers or wanted.condition else unnamed_releases(symbols)
    symbols = symbols | releases or ring_functions.recorded_symbols(table)
    condition = parsed(wanted.condition, wanted.function, symbols) if wanted.condition else None
    if condition is not None:
        symbols = {symbol for symbol in symbols if condition.fits(symbol)}
    folder = os.path.abspath(wanted.keep) if wanted.keep else ""
    of_python = python_names.wanted(wanted.python_for, table, wanted.python)
    if any(map(condition_words.is_like_script, wanted.callers)):
        of_python |= symbols  # who calls is known by the lines alone
    return RecordWish(frozenset(symbols), wanted.places, wanted.callers, wanted.stack, condition, folder, wanted.last,
                      of_python, releases)  # fmt: skip


def make_folder(path: str) -> None:
    from gdbcuda.shell.trace import starting

    starting.new_folder(path, "")


def unnamed_releases(symbols: set[str]) -> frozenset[str]:
    """Without them nobody could say what is still live."""
    from gdbcuda import ledger

    return frozenset(ledger.releases_of(symbols, api.load_all()) - symbols)


def parsed(text: str, patterns: list[str], symbols: set[str]) -> conditions.Condition:
    if not patterns:
        example = "cuda-log start cuMemAlloc if bytesize > 1G"
        raise UserError(f"a condition is on the parameters of functions: name those to record, as in  {example}")
    table = table_version.table()
    functions = [f for f in map(table_version.function, sorted(symbols)) if f is not None]
    globbed = {f.symbol for pattern in patterns if names.is_glob(pattern) for f in api.load_all().find(pattern)}
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


@command("cuda-log stop", needs="stopped")
def cuda_log_stop() -> str:
    """Stop recording; what was recorded stays until cuda-log clear.

    A recorder that cuda-log detach has left in the process ends too.

    Examples:
      cuda-log stop"""
    if call_log.SESSION.recorder is None and process.is_alive():
        from gdbcuda.live.keeping import left

        if count := left.take_out():
            return f"The recorder that was left in the process has ended: {count} functions are as they were."
    call_log.SESSION.require()
    call_log.stop()
    return cuda_log()


@command("cuda-log detach", needs="recorder")
def cuda_log_detach() -> str:
    """Let the program go on without gdb, and the recorder with it.

    It has been started with cuda-log start --fast --keep FOLDER: the process itself keeps its calls there, and
    'gdbcuda log show FOLDER' reads them at any time. To end it attach again, and type cuda-log stop.

    Examples:
      cuda-log start --fast --keep calls
      cuda-log detach"""
    from gdbcuda.live.keeping import left

    folder, count = left.let_go()
    return f"{count} functions go on being recorded into {visible(folder)} (attach and cuda-log stop end that)."


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
    from gdbcuda.live.recording import log_header  # loaded when first used

    count = log_header.save(call_log.SESSION.kept, wanted.file)
    lost = call_log.SESSION.kept.lost
    left = f" {lost} earlier ones were not kept: cuda-log start --to FILE writes all as they come." if lost else ""
    return f"{count} calls written to {visible(wanted.file)}.{left}"
