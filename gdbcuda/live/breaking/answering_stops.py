"""A breakpoint on a function also stops where a hook library answers for it under another name.

gdb has no place for it under that name. So it gets an ordinary breakpoint of its own at the address, with the same
condition, which goes, is switched and is given ``commands`` with the user's. At a bare address, it goes with its
process too; in the next one it is found again (`answer_search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

import gdb

from gdbcuda.live import breakpoints, layers, process
from gdbcuda.live.breakpoints import locations, ours, own_condition
from gdbcuda.live.breakpoints.ours import BreakWish
from gdbcuda.live.guarding import guards
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.placing import held_places, own_process, unloading
from gdbcuda.machine import entry_jump
from gdbcuda.routes.answering import Answering
from gdbcuda.text.printable import visible

BREAKPOINT = 0xCC  # gdb's own
_being_made: list[int] = []  # from that number on a command makes breakpoints, and says of each where it stops


def waiting() -> list[tuple[gdb.Breakpoint, BreakWish]]:
    """The user's breakpoints that mean the hook library's code, whatever its name."""
    return [(one, wish) for one, wish in breakpoints.of_ours() if wish.is_of_hook()]


def functions() -> Set[str]:
    """Whose entries somebody may overwrite, too: then no breakpoint of theirs may be there."""
    return {wish.function for _, wish in breakpoints.of_ours() if wish.is_of_api()}


answer_search.WANTED.append(functions)


def on_learned(answer: Answering) -> None:
    users = [(one, wish) for one, wish in breakpoints.of_ours() if wish.function == answer.function]
    if answer.entry and answer.entry not in answering_code.OVERWRITTEN():
        answering_code.OVERWRITTEN().add(answer.entry)
        with bytes_kept(answer.entry):
            choose_again(users)
        for one, wish in users:
            tell_of_nothing(one, wish, answer)
    else:
        choose_again(users)
    for one, wish in waiting():
        if wish.function == answer.function and means(wish, answer) and not is_gdbs(one, wish, answer):
            place(one, answer)


@contextmanager
def making() -> Iterator[None]:
    _being_made.append(breakpoints.next_number())
    try:
        yield
    finally:
        _being_made.pop()


def means(wish: BreakWish, answer: Answering) -> bool:
    reached = answer.reached
    return not wish.places or any(layers.matches(word, reached.layer, reached.file) for word in wish.places)


def tell_of_nothing(one: gdb.Breakpoint, wish: BreakWish, answer: Answering) -> None:
    """A breakpoint on the function itself, which was made before anybody had overwritten that."""
    places = locations.by_inferior(locations.of(one)).get(gdb.selected_inferior().num, [])
    is_made = any(one.number >= first for first in _being_made)
    if places and not is_made and not any(at.enabled for at in places) and not means(wish, answer):
        what = f"nothing stops at {answer.function} in {', '.join(wish.places)}"
        why = answering_code.comes_in_behind(gdb.solib_name(answer.entry) or "the driver")
        console.write(visible(f"Breakpoint {one.number}: {what}: {why}") + "\n")


def is_gdbs(one: gdb.Breakpoint, wish: BreakWish, answer: Answering) -> bool:
    """gdb itself finds the code of an indirect function, where that is the only place of the breakpoint, or where the
    function was called before."""
    places = locations.of(one)
    if any(at.enabled and process.function_start(at.address) == answer.reached.address for at in places):
        return True
    return len(places) == 1 and process.is_indirect(process.object_of(places[0].address), wish.function)


def is_taken(number: int, address: int) -> bool:
    """gdb may find that code later all the same, and stops behind the prologue also where there are no line numbers."""
    one = ours.find(number)
    codes = set(one.here().answering) if one is not None else set()
    return bool(codes) and not codes.isdisjoint({address, process.function_start(address)})


breakpoints.IS_TAKEN.append(is_taken)


answering_code.ON_LEARNED.append(on_learned)


def on_begun() -> None:
    choose_again(breakpoints.of_ours())


answer_search.ON_BEGUN.append(on_begun)


def choose_again(users: list[tuple[gdb.Breakpoint, BreakWish]]) -> None:
    """What gdb has found by name is now behind the hook library."""
    for one, wish in users:
        for number, own in locations.by_inferior(locations.of(one)).items():
            if number == gdb.selected_inferior().num:
                breakpoints.choose_among(one, own, wish)


@contextmanager
def bytes_kept(entry: int) -> Iterator[None]:
    """The jump at the entry stays as it is: gdb, which takes a breakpoint out there, writes what was there before."""
    raw = process.raw_memory()
    before = raw.read(entry, entry_jump.SIZE) if raw is not None else b""
    yield
    if raw is not None:
        after = raw.read(entry, len(before))
        wanted = bytes(new if old == BREAKPOINT else old for old, new in zip(before, after))
        if after != wanted:
            raw.write(entry, wanted)


def place(one: gdb.Breakpoint, answer: Answering) -> None:
    known, there = ours.of(one.number).here().answering, answer.reached
    if there.address in known:
        return
    asked = own_condition.of(one)
    condition = f" if {asked}" if asked else ""
    kind, stop = "tbreak" if one.temporary else "break", stop_address(there.address)
    known[there.address] = made = breakpoints.execute_break(f"{kind} *{stop:#x}{condition}")
    made.enabled = one.enabled
    own_condition.complete(made)
    own_process.confine(made, stop)
    guards.want_same(made, one.number)
    inherit(one, made)
    text = f"{there._replace(learned='').text}, which answers for {answer.function}: {answer.how}"
    console.write(visible(f"Breakpoint {made.number}, of {one.number}: {text}") + "\n")


def places_of(number: int) -> list[gdb.Breakpoint]:
    """In the selected inferior."""
    return [made for made in ours.of(number).here().answering.values() if made.is_valid()]


def stop_address(entry: int) -> int:
    """Where there are line numbers, behind the prologue, as gdb does: its frame then knows the parameters."""
    has_lines = process.program_space().find_pc_line(entry).symtab is not None
    return process.behind_prologue(entry) if has_lines else entry


def inherit(one: gdb.Breakpoint, made: gdb.Breakpoint) -> None:
    if made.is_valid() and one.commands != made.commands:
        made.commands = one.commands or ""


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """The user's own is switched, is given another condition, or commands."""
    one = ours.find(breakpoint.number)
    if one is not None and any(here.answering for here in one.here.all()):
        held_places.when_possible(breakpoint, pass_on)


def pass_on(breakpoint: gdb.Breakpoint) -> None:
    for here in ours.of(breakpoint.number).here.all():
        for made in filter(gdb.Breakpoint.is_valid, here.answering.values()):
            if made.enabled != breakpoint.enabled:
                made.enabled = breakpoint.enabled
            asked = own_condition.of(breakpoint)
            if own_condition.of(made) != asked:
                with gdb_cli.in_c():
                    made.condition = asked or None
                own_condition.complete(made)
            inherit(breakpoint, made)


def on_gone(gone: ours.OurBreakpoint) -> None:
    """Nothing is deleted while gdb is in the middle of its own list."""
    for here in gone.here.all():
        while here.answering:
            unloading.put_away(here.answering.popitem()[1])


ours.ON_GONE.append(on_gone)


def forget_unloaded(addresses: set[int]) -> None:
    """(`unloading` deletes the breakpoints.)"""
    for one in ours.everyone():
        known = one.here().answering
        for code in [code for code in known if code in addresses or stop_address(code) in addresses]:
            del known[code]


unloading.ON_UNLOADED.append(forget_unloaded)


def sweep(event: object = None) -> None:
    """Between commands: a temporary breakpoint goes when one of its places has stopped."""
    for one in ours.everyone():
        for here in one.here.all():
            drop_over(one.number, here.answering)


def drop_over(number: int, known: dict[int, gdb.Breakpoint]) -> None:
    for code, made in list(known.items()):
        owner = breakpoints.by_number(number)
        is_stopped = owner is not None and owner.temporary and (not made.is_valid() or made.hit_count > 0)
        if is_stopped or not made.is_valid():
            known.pop(code, None)
        if is_stopped and owner is not None:
            owner.delete()  # gdb deletes the place itself
