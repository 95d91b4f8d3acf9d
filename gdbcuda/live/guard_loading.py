"""Breakpoints of ours on the loader: what is loaded gets its guards, what is unloaded loses them."""

from __future__ import annotations

import gdb

from gdbcuda.live import room, settings, target
from gdbcuda.live.guard_making import remove, renew
from gdbcuda.live.guard_process import FILTERS, PROCESSES, Process, on_end
from gdbcuda.live.guard_watch import trash

# in gdb's python command: binds no name of the user's
THIS = "__import__('gdbcuda.live.guard_loading', fromlist=['*'])"
# Where gdb has read the loader's list anew (glibc's probes in elf/rtld.c, dl-open.c, dl-close.c), and what it uses
# where the loader has none. They are gdb's own places, so that they cost no packets of their own.
START, LOADER = "-probe-stap rtld:init_complete", ("-probe-stap rtld:reloc_complete", "-probe-stap rtld:unmap_complete")
NO_PROBES = "-function _dl_debug_state"
_loading: list[Loading] = []


class Loading(gdb.Breakpoint):
    """Where the loader tells debuggers of new objects. Internal, for it never stops."""

    def __init__(self, place: str) -> None:
        super().__init__(place, internal=True)
        self.place = place

    def stop(self) -> bool:
        process = PROCESSES()
        if self.place == START or (self.place == NO_PROBES and any(one.is_probe() for one in _loading)):
            self.enabled = False
        forget_unloaded(process)
        if process.fresh:
            for guard in [one for one in process.guards.values() if any(FILTERS[n].names_callers for n in one.members)]:
                process.stale.update(guard.members)
                remove(guard)
        renew(process.waiting)
        process.fresh.clear()
        return False

    def is_probe(self) -> bool:
        return self.place in LOADER and not self.pending


def forget_unloaded(process: Process) -> None:
    """What was written into an object has gone with it. (gdb 10 has no event for that.) gdb's own list is asked, which
    it has just read: ours would be read anew, packet by packet."""
    for function, guard in list(process.guards.items()):
        if not hasattr(gdb, "BreakpointLocation"):  # before gdb 13 an unloaded one cannot be found to switch it on
            guard.wake()
        if not gdb.solib_name(function) and not target.in_program(function):
            target.forget()
            del process.guards[function]
            process.stale.update(guard.members)
            guard.forget()
            target.PATCHED().pop(guard.detour.patch, None)
            room.take_back(guard.detour, guard.trampoline)


def watch_loader() -> None:
    _loading.extend(Loading(place) for place in (START, *LOADER, NO_PROBES))


def watch_or_not() -> None:
    """Where there is no loader yet gdb would say so: hence the command, whose text is dropped."""
    if not FILTERS or settings.value("cuda-guard") == "off":
        trash.extend(_loading)
        _loading.clear()
    elif not _loading:
        gdb.execute(f"python {THIS}.watch_loader()", to_string=True)


def begin_again() -> None:
    """Another process: what was over is to come."""
    for place in _loading:
        place.enabled = True


on_end.append(begin_again)
