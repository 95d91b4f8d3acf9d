"""``cuda-break``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container
from typing import TYPE_CHECKING

import gdb

from gdbcuda.live import breakpoints, layers, process
from gdbcuda.live.breaking import answering_stops, from_request, gdb_conditions, named_functions
from gdbcuda.live.breaking.break_options import ADOPTERS, BreakOptions
from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.live.frames import condition_words
from gdbcuda.live.guarding import guards
from gdbcuda.live.layers import library_files, names, own_calls
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.preloading import presence
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import command
from gdbcuda.text import cplusplus
from gdbcuda.text.highlight import C, highlighted
from gdbcuda.text.printable import visible, visible_in_colour
from gdbcuda.text.sentences import some

if TYPE_CHECKING:
    from gdbcuda import condition as conditions

MOST_SHOWN = 3
MOST_LINES = 8  # of functions that each have their own


@command("cuda-break", BreakOptions, purpose="stop", needs="stopped")
def cuda_break(wanted: BreakOptions) -> str:
    """Break in one implementation of a CUDA or NVML function: the hook library's.

    The breakpoint can be made before the program runs, and needs no debug info. COND is written on the
    header's parameter names, enum constants and sizes. It means the same in every layer. It is checked at
    once. The breakpoint is an ordinary one of gdb's: info breakpoints, disable, delete, commands, ignore and
    save breakpoints work on it.

    COND may follow a pointer that the function reads: *count, pCopy->Height, sizes[0]. A pointer that is NULL
    makes the comparison false. At any other pointer that leads nowhere, gdb stops and says so. COND may take
    members of a struct: gridDim.x.

    COND may ask who calls: caller in hook, or caller in libfoo.so,main. The words are layers, libraries and
    functions. Such a COND decides alone: the usual --from app does not apply. thread == N is gdb's number of
    the thread.

    nth == N, every N and after N count calls. They count the calls that the rest of COND and --from let
    through. Each breakpoint counts by itself, from the start of each process. A count is joined to the rest
    by && and is tested last.

    A glob gives breakpoints in several functions. Functions that COND does not fit are left out.

    --on return and --on error stop at the return of a call. COND and --from are tested when the call begins.
    Each call site that such a call returns to gets an ordinary breakpoint. It is deleted with this one.

    Where it is safe, COND and --from are compiled into the process. That is a guard. A call that does not
    match then costs a nanosecond and no stop, or 0.2 us where COND looks at a string or behind a pointer.
    cuda-guards shows which breakpoints have a guard, and why others have none. 'set cuda-guard off' makes
    none.

    Examples:
      cuda-break cudaMalloc
      cuda-break cuMemAlloc if bytesize > 1<<30
      cuda-break cudaMemcpy if kind == cudaMemcpyDeviceToHost && count >= 1M
      cuda-break cuLaunchKernel if blockDimX > 256 && caller in app && every 100
      cuda-break cuMemcpy2D if pCopy->WidthInBytes >= 1M && thread == 2
      cuda-break cuMemAlloc --count if bytesize > 1G
      cuda-break cuMemAlloc --on error
      cuda-break 'cuMem*' --in driver if bytesize > 1G
      cuda-break nvmlDeviceGetMemoryInfo --once"""
    request = from_request.request_of(wanted)
    functions = named_functions.named(wanted, request)
    request.refuse_returns([*functions.patterns])
    no_api = request.take_any_caller([*functions.patterns])
    condition = named_functions.condition_of(request, functions.patterns)
    if condition is None and no_api:
        gdb_conditions.refuse_unreadable(request.text or "", [*functions.patterns])
    fitting = [symbol for symbol in functions.patterns if condition is None or condition.fits(symbol)]
    made, indirect = made_in(fitting, functions.by_others, request, condition)
    said = summary(made, request, condition, functions.by_others) + no_api + not_followed(indirect)
    return said + remarks(functions, fitting, request)


ADOPTERS["cuda-break"] = lambda one, words: from_request.adopt(one, words)


def made_in(
    symbols: list[str], by_others: Container[str], request: from_request.BreakRequest,
    condition: conditions.Condition | None,
) -> tuple[list[gdb.Breakpoint], list[str]]:  # fmt: skip
    """And those that get none, beside others that do."""
    made, indirect = list[gdb.Breakpoint](), list[str]()
    with breakpoints.pending_allowed(), answering_stops.making():
        for one in symbols:
            try:
                made.append(from_request.make(one, request.by_anyone() if one in by_others else request, condition))
            except breakpoints.IndirectFunction:
                indirect.append(one)
        if any(names.function_named(one) is not None for one in symbols):
            answer_search.want()  # once for all of them
    guards.refresh()
    if indirect and not made:
        raise breakpoints.IndirectFunction
    return made, indirect


def not_followed(symbols: list[str]) -> str:
    return f"\n  (not at {some(symbols)}: {breakpoints.IS_INDIRECT})" if symbols else ""


def remarks(functions: named_functions.Named, fitting: list[str], request: from_request.BreakRequest) -> str:
    left_out = [symbol for symbol in functions.patterns if symbol not in fitting]
    by_others = [symbol for symbol in functions.patterns if symbol in functions.by_others]
    said = not_fitting(left_out) + unknown_callers(request)
    said += hooks_own_calls([one for one in fitting if one not in by_others], request)
    if by_others:
        said += f"\n  (the program does not call {some(by_others)}: anyone's calls stop there)"
    return said


def hooks_own_calls(symbols: list[str], request: from_request.BreakRequest) -> str:
    """A breakpoint behind the hook library stops at the program's calls; the library may be the one that calls."""
    if request.callers != "app" or request.is_from_given or len(symbols) > MOST_LINES:
        return ""
    own = {one: path for one in symbols for path in own_calls.callers_of(one)}
    if not own:
        return ""
    whose = base_names([*dict.fromkeys(own.values())])
    return f"\n  ({some([*own])} may be called by {whose} itself: --from hook stops there)"


def not_fitting(symbols: list[str]) -> str:
    """Of a glob or a base name."""
    if not symbols:
        return ""
    shown = ", ".join(symbols[:MOST_SHOWN]) + (", ..." if len(symbols) > MOST_SHOWN else "")
    return f"\n  (the condition does not fit {len(symbols)} of them: {shown})"


def unknown_callers(request: from_request.BreakRequest) -> str:
    """Of --from, where it may be a library or a function to come."""
    if not request.is_from_given or not process.is_alive():
        return ""
    strange = [word for word in cplusplus.listed(request.callers) if not condition_words.is_known(word)]
    return "".join(f"\n  ({visible(condition_words.unknown(word))})" for word in strange)


def summary(
    made: list[gdb.Breakpoint], request: from_request.BreakRequest, condition: conditions.Condition | None,
    by_others: Container[str],
) -> str:
    """``by_others``: functions that stop for any caller."""
    whose, rest = called_from(request), (f", on {request.on}" if request.on != "enter" else "")
    if condition is not None or request.text:
        text = condition.text if condition is not None else request.text or ""
        rest += f", if {highlighted(visible(text), C, settings.colour())}"
    if len(made) > MOST_LINES:
        places = Counter(" ".join(where(b, request)).strip() for b in made)
        rows = [f"  {count} in {place}" for place, count in places.most_common()]
        rows.insert(0, f"{names.breakpoint_numbers([b.number for b in made])}: {len(made)} functions{whose}{rest}")
    else:
        rows = [f"Breakpoint {b.number}: {ours.wish(b.number).function} in "
                f"{' '.join(where(b, request)).strip()}"
                f"{'' if ours.wish(b.number).function in by_others else whose}{rest}{guarded(b)}" for b in made]
    return "\n".join(map(visible_in_colour, rows))


_said: list[str] = []  # what holds for every function of this machine is said once; cuda-guards says it always


def guarded(made: gdb.Breakpoint) -> str:
    state = guards.state_of(made.number)
    if not state or state in _said:
        return ""
    if guards.is_of_machine(state):
        _said.append(state)
    return f"; {state}"


def called_from(request: from_request.BreakRequest) -> str:
    who = {"app": "the program", "any": ""}.get(request.callers, request.callers)
    return f", called from {who}" if who else ""


def where(made: gdb.Breakpoint, request: from_request.BreakRequest) -> tuple[str, str]:
    """("hook libvgpu.so", "(pending until it is loaded)"): where the enabled location is, or will be."""
    live = [p for p in locations.of(made) if p.enabled]
    if live:
        return ", ".join(dict.fromkeys(layers.shown(p.layer, p.file) for p in live)), why_there(made, live)
    answering = answering_stops.places_of(made.number)
    if answering:
        return "hook", f"(by {names.breakpoint_numbers([one.number for one in answering]).lower()})"
    hooks = layers.named_hooks()
    if request.places == ("hook",) and hooks and all(lacks(path, made) for path in hooks):
        lacking = f"{base_names(hooks)} has no function of that name, not even a hidden one"
        return "hook", f"(pending; {lacking}: this stops in what it answers with, see  cuda-dlsym log on)"
    if request.places:
        return ", ".join(request.places), not_there(made)
    if ours.wish(made.number).defined_in_hook:
        return f"hook {os.path.basename(hooks[0])}", f"(pending{absent(hooks)})"
    if hooks and not any(library_files.defined(path) for path in hooks):
        return "the hook or the outermost library that has it", "(pending until one is loaded)"
    missing = why_not(hooks).partition(";")[0] if hooks else "no hook library yet, see cuda-load"
    return "the outermost library that has it", f"(pending until one is loaded; {missing})"


def not_there(made: gdb.Breakpoint) -> str:
    taken = next((place for place in locations.of(made) if answering_code.is_overwritten(place.address)), None)
    if taken is None:
        return "(pending until it is loaded)"
    return f"(nothing stops there: {visible(answering_code.comes_in_behind(taken.file))})"


def absent(hooks: list[str]) -> str:
    """A process that runs already, without the hook, will hardly load it."""
    is_late = process.is_alive() and not process.is_running() and presence.is_settled()
    if not is_late or any(map(presence.is_here, hooks)):
        return " until it is loaded"
    return ": it is not in this process; --in driver stops without it"


def lacks(path: str, made: gdb.Breakpoint) -> bool:
    defined = library_files.defined(path)
    return bool(defined) and not names.defines(path, ours.wish(made.number).function)


def base_names(hooks: list[str]) -> str:
    return ", ".join(map(os.path.basename, hooks))


def why_not(hooks: list[str]) -> str:
    """Why a breakpoint without --in is not in the hook."""
    hiding = [path for path in hooks if library_files.hides_all(path)]
    if hiding:
        since = " from now on" if any(map(presence.is_here, hiding)) else ""
        return f"{base_names(hiding)} hides what it defines: this stops in what it answers dlsym with{since}"
    return f"{base_names(hooks)} does not define it; this is the outermost that does"


def why_there(made: gdb.Breakpoint, live: list[locations.Location]) -> str:
    """Says so when the hook was meant but the function is not in it."""
    hooks = layers.hooks()
    wish = ours.wish(made.number)
    if wish.places or any(p.layer == "hook" for p in live) or names.prototype(wish.function) is None:
        return ""
    if not hooks:
        return "(no hook library is loaded; see cuda-load)"
    return f"({why_not(hooks)})"
