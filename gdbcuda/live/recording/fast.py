"""What ``cuda-log start --fast`` can do here, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gdbcuda.calls.missing import MOST_NAMED, MissingCalls
from gdbcuda.calls.references import WHY_LOST
from gdbcuda.condition import typed
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.live import layers, process
from gdbcuda.live.breakpoints import locations
from gdbcuda.live.guarding import seccomp
from gdbcuda.live.patching import agent, detours
from gdbcuda.live.preloading import preload, presence
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.by_breakpoints.recorder import Recorder
from gdbcuda.live.recording.in_process.ring_recorder import RingRecorder
from gdbcuda.rings import ring_layout
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some

IN_GDB = (typed.CallerIn, typed.Thread, typed.Count, typed.Ordinal)


def require_possible(wish: RecordWish) -> None:
    """`UserError` with what is in the way."""
    if not locations.LISTS:
        raise UserError("--fast needs a gdb that tells where breakpoints are while the program goes on (13 does); "
                        "without it the recorder works by stops", page="log")  # fmt: skip
    if wish.stack and not wish.folder:
        raise UserError("--stack needs the debugger at each call, or --keep: leave --fast out, or --stack", page="log")
    if wish.stack > ring_layout.MOST_CALLERS:
        raise UserError(f"with --fast --stack is {ring_layout.MOST_CALLERS} at most, not {wish.stack}", page="log")
    if wish.last > ring_layout.MOST_RECORDS:
        raise UserError(f"--last is {ring_layout.MOST_RECORDS} at most, not {wish.last}", page="log")
    if wish.condition is not None:
        for tree in wish.condition.trees.values():
            if any(isinstance(one, IN_GDB) for one in typed.nodes(tree)):
                raise UserError("with --fast a condition is on the arguments alone (--from names callers)", page="log")
    if not places.agent():
        raise UserError(f"libgdbcuda.so is not built: {places.own_command()} demo --build-only does that", page="log")
    if process.is_alive():
        require_process(wish)


def require_this_machine() -> None:
    """For files of the process: it writes them itself."""
    if process.is_remote() or process.connection() == "extended-remote":
        raise UserError("--keep is of processes of this machine: there, type  gdbcuda trace -p PID", page="log")


def require_process(wish: RecordWish) -> None:
    why = detours.is_possible()
    if not why and seccomp.is_confined():
        why = "the program confines itself with seccomp"
    if why:
        raise UserError(f"the recorder cannot be in this process: {why}; without --fast it works by stops", page="log")


def way_in() -> str:
    if process.connection() == "native":
        return ", which the next run will have"
    if process.connection() == "extended-remote":
        return f". Where the server has it as {places.agent()}, the next run has it"
    named = [preload.STATE.there.get(one, one) for one in layers.named_hooks()]
    value = ":".join([*named, "/ITS/PLACE/THERE/libgdbcuda.so"])
    return f": start it with  gdbserver --wrapper env LD_PRELOAD={value} -- …"


def is_fast(recorder: Recorder | RingRecorder) -> bool:
    return isinstance(recorder, RingRecorder)


def remark(recorder: Recorder | RingRecorder) -> str:
    """What is not recorded, and why."""
    assert isinstance(recorder, RingRecorder)
    found = []
    if process.is_alive() and agent.area() is None and presence.is_settled():
        found.append(f"This process has not libgdbcuda.so{way_in()}.")
    found += lost_text(recorder.lost)
    if recorder.lost and recorder.wish.folder:
        found.append(f"gdbcuda log show {visible(recorder.wish.folder)} has what is in its files, of threads that have "
                     "ended too.")  # fmt: skip
    return "".join(f"\n{line}" for line in [*found, *careful_text(recorder), *left_out(recorder)])


def careful_text(recorder: Recorder | RingRecorder | None) -> list[str]:
    processes = recorder.at_work() if isinstance(recorder, RingRecorder) else ()
    return [f"What pointers lead to, and threads that had made no call, are not recorded: {state.careful}."
            for state in processes if state.careful]  # fmt: skip


def lost_text(lost: Mapping[str, int]) -> list[str]:
    return [f"{counted(calls, 'call')} {'was' if calls == 1 else 'were'} {WHY_LOST[why]}."
            for why, calls in lost.items()]  # fmt: skip


def left_out(recorder: RingRecorder) -> Iterator[str]:
    """The most frequent reason first; of functions too that have gone with their object."""
    at_work = recorder.at_work()
    names: dict[str, list[str]] = {}
    for name, why in (pair for state in at_work for pair in state.not_recorded()):
        names.setdefault(why, []).append(name)
    total = sum(state.wanted() for state in at_work)
    for why, those in sorted(names.items(), key=lambda one: -len(one[1])):
        which = "of each: " if len(those) > 1 else ""
        named = some(list(dict.fromkeys(those)), MOST_NAMED)
        yield f"Not recorded: {len(those)} of {total} functions ({which}{why}): {named}."
    yield from missing(recorder).lines({name for those in names.values() for name in those})


def missing(recorder: RingRecorder) -> MissingCalls:
    """Of all processes."""
    found = MissingCalls()
    for one in [recorder.missing_before, *(state.found_missing() for state in recorder.processes.all())]:
        found.update(one)
    return found
