"""``save breakpoints`` and its file: what gdb writes of a cuda-break breakpoint has to make the same one again.

gdb writes the locations that are switched off by their numbers. Where the file is read these are other places, or
none, and reading ends in an error or with the whole breakpoint disabled. So while gdb writes, all are on, and the
condition begins with $_cuda_in("LAYERS"): the term that makes the breakpoint ours again when the file is read.
Breakpoints at call sites are of this process alone and are not written.
(gdb manual: "Save Breakpoints", "User-defined Command Hooks".)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import gdb

from gdbcuda.live import breakpoints, inferiors, layers, names, returns
from gdbcuda.live.expressions import quoted

IN = re.compile(r'\$_cuda_in\("([^"]*)"\)(?: && \((.*)\))?$', re.DOTALL)
FUNCTION = re.compile(r"-qualified -function (\S+)")



@dataclass
class Aside:
    """A breakpoint as it was before gdb writes it; ``off`` are the indices of its locations that are switched off."""

    breakpoint: gdb.Breakpoint
    condition: str | None
    off: list[breakpoints.Location]


_aside: list[Aside] = []
_sites: dict[int, dict[int, set[int]]] = {}  # by inferior, then by address: whose they are


def watch_save() -> None:
    """gdb has no event for ``save breakpoints``, only the user's hook."""
    for hook in ("before", "after"):
        word = "hook" if hook == "before" else "hookpost"
        action = f"import gdbcuda.live.saving as saving; saving.{hook}()"
        gdb.execute(f"define save {word}-breakpoints\npython {action}\nend", to_string=True)


def before() -> None:
    after()
    if any(thread.is_running() for thread in gdb.selected_inferior().threads()):
        return  # gdb could not change them now
    for inferior in gdb.inferiors():
        _sites[inferior.num] = returns.take_sites(inferior)
    for one in gdb.breakpoints():
        wish = breakpoints.WISHES.get(one.number)
        if wish is not None:
            _aside.append(Aside(one, one.condition, [p for p in breakpoints.locations(one) if not p.enabled]))
            own = f" && ({one.condition})" if one.condition else ""
            one.condition = f"$_cuda_in({quoted(','.join(wish.places))}){own}"
            switch(_aside[-1], True)


def after(event: object = None) -> None:
    """Everything as it was; also before the next prompt, for gdb runs no hook behind a save that failed."""
    for one in filter(lambda one: one.breakpoint.is_valid(), _aside):
        one.breakpoint.condition = one.condition
        switch(one, False)
    _aside.clear()
    for inferior in gdb.inferiors():
        with inferiors.selected(inferior):
            for address, owners in _sites.get(inferior.num, {}).items():
                for number in owners:
                    returns.watch(address, number)
    _sites.clear()


def switch(one: Aside, on: bool) -> None:
    for place in one.off:
        breakpoints.switch(one.breakpoint, place, on)


def on_modified(one: gdb.Breakpoint) -> None:
    """A breakpoint that was read from such a file is ours again, under its new number."""
    found = IN.match(one.condition or "") if one.number not in breakpoints.WISHES else None
    function = FUNCTION.match(one.location or "")
    if found is None or function is None:
        return
    places = names.split_places(found.group(1))
    in_hook = not places and any(function.group(1) in names.exported(path) for path in layers.named_hooks())
    breakpoints.WISHES[one.number] = breakpoints.Wish(function.group(1), places, in_hook)
    own = re.sub(r"(\$_cuda_(?:count|returns)\()\d+", rf"\g<1>{one.number}", found.group(2) or "")
    one.condition = own or None
