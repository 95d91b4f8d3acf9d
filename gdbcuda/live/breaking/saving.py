"""``save breakpoints`` and its file: what gdb writes of a cuda-break breakpoint has to make the same one again.

gdb writes the locations that are switched off by their numbers. Where the file is read these are other places, or
none, and reading ends in an error or with the whole breakpoint disabled. So while gdb writes, all are on, and the
condition is $_cuda_break("WORDS"), the command that asks for it: when gdb reads that, the breakpoint is ours again.
What the user has made of the condition follows behind &&. Breakpoints at call sites are of this process alone and are
not written. One that is pending is left as it is: gdb loses it when its condition is set. ``cuda-save`` has it.
(gdb manual: "Save Breakpoints", "User-defined Command Hooks".)
"""

from __future__ import annotations

import re
from typing import NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import breakpoints
from gdbcuda.live.breaking.break_options import ADOPTERS
from gdbcuda.live.breakpoints import locations, ours, own_condition
from gdbcuda.live.breakpoints.ours import BreakWish
from gdbcuda.live.host import console, gdb_cli, inferiors
from gdbcuda.live.host.expressions import quoted
from gdbcuda.live.layers import names
from gdbcuda.live.stopping.returning import call_sites
from gdbcuda.text.patterns import pattern

SAVED = pattern(r'\$_cuda_break\("((?:[^"\\]|\\.)*)"\)(?: && \((.*)\))?$', re.DOTALL)


class Aside(NamedTuple):
    """A breakpoint as it was before gdb writes it; ``off`` are the indices of its locations that are switched off."""

    breakpoint: gdb.Breakpoint
    condition: str | None
    off: list[locations.Location]


_aside: list[Aside] = []
_without_sites: list[gdb.Inferior] = []  # their breakpoints at call sites are taken out


def before() -> None:
    after()
    if any(thread.is_running() for thread in inferiors.threads()):
        return  # gdb could not change them now
    _without_sites.extend(call_sites.take_out())
    pending = []
    for one, wish in breakpoints.of_ours():
        places = locations.of(one)
        if places:
            set_aside(one, wish, places)
        else:
            pending.append(one.number)
    if pending:
        console.write(f"{names.breakpoint_numbers(pending)} pending: gdb cannot save what was asked, cuda-save can\n")


def set_aside(one: gdb.Breakpoint, wish: BreakWish, places: list[locations.Location]) -> None:
    _aside.append(Aside(one, one.condition, [place for place in places if not place.enabled]))
    changed = changed_condition(one, wish)
    own = f" && ({changed})" if changed else ""
    with gdb_cli.in_c():
        one.condition = f"{own_condition.IS_WRITTEN}{quoted(wish.words)}){own}"
    switch(_aside[-1], True)


def changed_condition(one: gdb.Breakpoint, wish: BreakWish) -> str:
    """What the user has made of the condition; "1" for none at all."""
    own = own_condition.of(one)
    return (own or "1") if own != wish.native else ""


def after(event: object = None) -> None:
    """Everything as it was; also before the next prompt, for gdb runs no hook behind a save that failed."""
    for one in filter(lambda one: one.breakpoint.is_valid(), _aside):
        with gdb_cli.in_c():
            one.breakpoint.condition = one.condition
        switch(one, False)
    _aside.clear()
    for inferior in filter(gdb.Inferior.is_valid, _without_sites):
        with inferiors.selected(inferior):
            call_sites.put_back()
    _without_sites.clear()


def switch(one: Aside, on: bool) -> None:
    for place in one.off:
        breakpoints.switch(one.breakpoint, place, on)


def on_modified(one: gdb.Breakpoint) -> None:
    """A breakpoint that was read from such a file is ours again, under its new number."""
    found = SAVED.match(one.condition or "") if ours.wish_of(one.number) is None else None
    if found is None:
        return
    try:
        adopt(one, re.sub(r"\\(.)", r"\1", found[1]))
    except UserError as problem:
        console.write(f"breakpoint {one.number} is not what it was: {problem}\n")
        return
    if found[2]:
        own = re.sub(r"(\$_cuda_(?:count|returns)\()\d+", rf"\g<1>{one.number}", found[2])
        with gdb_cli.in_c():
            one.condition = own if own != "1" else None


def adopt(one: gdb.Breakpoint, words: str) -> None:
    name = next((name for name in ADOPTERS if words.startswith(f"{name} ")), None)
    if name is None:
        raise UserError(f"{words.partition(' ')[0]} makes no breakpoints here")
    ADOPTERS[name](one, words[len(name) + 1 :])
