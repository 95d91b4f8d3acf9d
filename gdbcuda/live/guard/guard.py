"""One guarded function. The user's breakpoint, with its native condition, is gdb's own all the time, and stays on.

    lowered   the entry jumps to the trampoline. Calls that match go from there to the location, gdb hears of no others.
    raised    the function's own instructions. There is a breakpoint of ours on each that the jump replaces.

A call that is to stop inside the replaced bytes jumps there, from `hit`, once they are raised. Out of them gdb takes it
instruction by instruction; meanwhile (``inside``) they stay raised. Nobody executes what changes: who is at the entry
comes to the one or the other. `native` and `far_guard` know how the bytes are changed.
"""

from __future__ import annotations

from gdbcuda.data_classes import dataclass, field
from gdbcuda.live import process
from gdbcuda.live.breakpoints import by_number
from gdbcuda.live.guard.inside import Call, Inside, here, is_stepped
from gdbcuda.live.guard.watch import Watch, trash
from gdbcuda.live.patching import trampoline_space
from gdbcuda.live.threads import call_registers
from gdbcuda.machine import trampoline
from gdbcuda.machine.detour import Detour

FOREIGN = "its function was patched by someone else meanwhile"


@dataclass
class Guard:
    """``members``: numbers of the breakpoints that share the patch; ``stop``: where their locations are.

    ``is_counting``: each call has to be tested once. ``skipped``: calls that the trampoline did not count; ``trouble``:
    why the function's code stays as it is, so that all calls stop in gdb. ``is_shown``: the user may look at the
    function. ``inside``: calls that are, or may be, among the replaced bytes. ``tested``: by thread, the stack pointer
    of its last call that the trampoline has let through. ``hits``: of its breakpoints, as many as gdb has counted.
    ``left_to_gdb``: the call that gdb's condition has just counted, for the trampoline has not; ``put_off``: the one
    that it was told no about, for the trampoline is yet to be asked. ``came_out``: the thread that was last seen behind
    the replaced bytes, which has executed them, and what its registers were."""

    function: int
    stop: int
    members: tuple[int, ...]
    detour: Detour
    trampoline: trampoline.Trampoline
    is_counting: bool = False
    skipped: int = 0
    trouble: str = ""
    is_lowered: bool = False
    is_shown: bool = False
    inside: Inside = field(init=False)
    tested: dict[int, int] = field(default_factory=dict)
    hits: int = 0
    left_to_gdb: Call | None = None
    put_off: Call | None = None
    came_out: tuple[int, tuple[int, ...]] | None = None

    def __post_init__(self) -> None:
        found, self.inside = self.detour, Inside(self.is_inside)
        self.hit = [Watch(self.trampoline.hit, self.on_hit)] if found.stops_inside or self.is_counting else []
        self.leaving = [Watch(at, self.on_leaving) for at in self.ways_out()]
        self.cover = [
            Watch(found.function, self.on_entry),  # first: who comes is stopped before the rest changes
            *(Watch(at, self.on_boundary) for at in found.boundaries),
            *(Watch(at, nothing) for at in self.between()),
        ]
        self.has_matched()

    def between(self) -> list[int]:
        """Replaced bytes at which no instruction begins, that need a breakpoint too."""
        return []

    def ways_out(self) -> tuple[int, ...]:
        """Where a call is out of the replaced bytes."""
        return self.detour.leaving

    def watches(self) -> list[Watch]:
        return [*self.hit, *self.leaving, *self.cover]

    # -- what the breakpoints see

    def on_hit(self) -> None:
        """A call has passed the test, and is about to go to the location."""
        call = here()
        self.tested[call[0]] = call[1]
        if self.detour.stops_inside:
            self.inside.add(call)
            self.enter(call)

    def on_entry(self) -> None:
        if process.register("pc") != self.function:
            return  # gdb's condition has taken the call back to its caller (`faulting.by_gdb`)
        if self.trouble:
            self.raise_()
            return
        call = here()
        is_match = self.has_matched() and self.stop == self.function and call != self.put_off
        is_counted, self.left_to_gdb = call == self.left_to_gdb, None
        if self.has_come_from_hit(call):
            if not self.leaving:
                del self.tested[call[0]]
                self.inside.discard(call)
        else:
            self.tested.pop(call[0], None)
            if not is_match and not is_counted and self.send_through(call):
                return
            if call not in self.inside:
                self.skipped += 1
                trampoline_space.miss(self.function)
        self.enter(call)

    def on_boundary(self) -> None:
        call = here()
        if not self.trouble and not self.inside.innermost(call):
            self.enter(call)
        self.raise_()

    def enter(self, call: Call) -> None:
        if self.leaving:
            self.inside.forget_others(call)
            self.inside.add(call)
        if self.leaving or self.detour.stops_inside:
            self.raise_()

    def on_leaving(self) -> None:
        thread, sp = here()
        self.came_out = (thread, call_registers.here().moment())
        self.inside.leave((thread, sp))
        if self.detour.stops_inside and sp <= self.tested.get(thread, -1):
            del self.tested[thread]
        self.lower()

    def has_come_from_hit(self, call: Call) -> bool:
        """Not if an earlier call from the same place has."""
        return self.stop == self.function and self.tested.get(call[0]) == call[1]

    def verdict(self) -> bool | None:
        """What the trampoline has said of the call that the selected thread has at the location; None if it was not
        asked. (gdb evaluates the user's condition before it asks us, whose breakpoint is younger.)"""
        thread, sp = here()
        if sp <= self.tested.get(thread, -1):
            return True
        self.left_to_gdb = (thread, sp)
        return None

    def has_come_out(self) -> bool:
        """Has the thread, which may be at the location, executed the function's own instructions, by no trampoline?"""
        return self.came_out == (here()[0], call_registers.here().moment())

    def has_matched(self) -> bool:
        """Has gdb counted a hit since the last time, here or elsewhere? It has asked the condition first."""
        before, self.hits = self.hits, sum(one.hit_count for one in map(by_number, self.members) if one is not None)
        return self.hits != before

    def send_through(self, call: Call) -> bool:
        """The call that has come to the raised entry goes through the trampoline after all, and the guard is lowered.
        Not one that is stepped there, by the user maybe."""
        if is_stepped():
            return False
        self.inside.discard(call)
        self.inside.forget_others(call)
        return self.take_jump()

    def take_jump(self) -> bool:
        raise NotImplementedError

    # -- what the user does

    def stand(self, pc: int) -> None:
        """The user's stop, at ``pc`` of the selected thread."""
        if self.inside:
            self.inside.look_again()

    def lift(self) -> None:
        """Raised, so that step, advance and until see the next call whether it matches or not."""
        self.is_shown = True
        self.raise_()

    def is_inside(self, pc: int) -> bool:
        """Or about to be, by any trampoline, or to leave. (gdb may have to step a thread over what is at the entry.)"""
        code = self.trampoline
        is_on_the_way = code.hit <= pc < code.address + len(code.raw) or trampoline_space.is_left(pc)
        return is_on_the_way or self.function <= pc < self.detour.resume or pc in self.detour.leaving

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        """The program goes on; there the selected thread is."""
        if self.detour.boundaries and pc in (self.function, *self.detour.boundaries):
            self.inside.add((thread, sp))
        if not self.is_shown:
            self.lower()
        self.is_shown = False

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        """The thread was there before the guard: it is inside until it is known not to be."""
        if self.detour.boundaries and self.is_inside(pc):
            self.inside.add((thread, sp))

    def begin(self) -> None:
        """It is made while the program runs, in an object that has just been loaded."""
        self.lower()

    def rest(self) -> None:
        """It is made while the program stands still."""

    def unveil(self) -> None:
        """gdb is about to look for the end of the function's prologue."""

    def veil(self) -> None:
        """It has looked."""

    # -- what is really there

    def lower(self) -> None:
        if not (self.is_lowered or self.inside or self.trouble):
            self.is_lowered = self.write_jump()

    def raise_(self) -> None:
        raise NotImplementedError

    def write_jump(self) -> bool:
        """False where it is not to be: then there is ``trouble``."""
        raise NotImplementedError

    def jump(self) -> bytes:
        return self.detour.jump_to(self.trampoline.address)

    # -- ends

    def take_back(self, is_stopped: bool) -> None:
        """The function as it was, for good. What is left of the trampoline goes when no thread is in it."""
        self.put_back()
        self.retire()
        for one in self.watches() if is_stopped else ():
            one.switch(False)
        if self.trouble != FOREIGN:  # else somebody's jump may lead there still
            trampoline_space.take_back(self.detour.island, self.trampoline)

    def put_back(self) -> None:
        if not self.trouble:
            self.raise_()

    def retire(self) -> None:
        """Its breakpoints go at the next stop."""
        for one in self.watches():
            one.look = nothing
            trash.append(one)

    def forget(self) -> None:
        """The process is gone, or the object, and with it what was patched."""
        for one in self.watches():
            one.switch(False)
            trash.append(one)

    def end(self) -> None:
        """With the process. What is left is the patch, which a fork may have."""
        self.forget()
        self.members = ()
        self.hit, self.leaving, self.cover = [], [], []

    def undo_in_fork(self) -> None:
        """The same for another process, selected now, that has the patch from this one."""


def nothing() -> None:
    pass
