"""``cuda-layers``."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.command_line.options import Options, flag
from gdbcuda.live.noticing import who
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import stops
from gdbcuda.text import render
from gdbcuda.text.json_text import json_text
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, short_paths

COLUMNS = ("layer", "object", "exports", "known by", "search order")
MOST_NAMES = 4
KINDS = (("driver", "driver"), ("nvml", "NVML"), ("runtime", "runtime"))


class LayersOptions(Options):
    all: bool = flag("each library of the system and of the program too")
    json: bool = flag("as one JSON object")


@command("cuda-layers", LayersOptions, purpose="check", needs="stopped")
def cuda_layers(wanted: LayersOptions) -> str:
    """Show which object of the process is in which layer, and why.

    The layers, outermost first: app, runtime, hook, driver, system. A hook library is one that cuda-load was
    given. An object that nobody knows, and that exports functions of the API under their own names, is one
    too. The runtime and the driver are known by their names. A runtime inside the program shows as the
    program's exports, or not at all: cuda-check tells. The search order says which object the loader asks
    first for a name. "dlopen" came later. The command works at any stop and on a core file. Once the
    process is gone it shows what that had, without the order.

    Examples:
      cuda-layers
      cuda-layers --all
      cuda-layers --json"""
    ended = who.members_at_end()
    found = ended or who.members()
    if wanted.json:
        return json_text({"objects": [one._asdict() for one in found], **({"ended": True} if ended else {})})
    shown = [one for one in found if wanted.all or is_of_interest(one)]
    names = short_paths(one.file for one in shown)
    rows = [row(one, names[one.file]) for one in shown]
    columns = COLUMNS[:-1] if ended else COLUMNS
    lines = ["There is no process now. The last one had these:"] if ended else []
    lines += [render.table([one[: len(columns)] for one in rows], list(columns), colour=settings.colour())]
    left = len(found) - len(shown)
    lines += [f"{counted(left, 'more object')} of the system and the program: cuda-layers --all"] if left else []
    return "\n".join(lines)


def is_of_interest(one: who.Member) -> bool:
    """What takes part, or could: also a library of the program's that defines a resolver."""
    takes_part = bool(one.exports or one.answers)
    return one.known_by == who.PROGRAM or one.layer not in ("app", "system") or takes_part or (
        one.layer == "app" and bool(one.resolvers))  # fmt: skip


def row(one: who.Member, name: str) -> Sequence[str]:
    order = "dlopen" if one.order is None else str(one.order or "namespace")
    name = visible(name)
    return stops.paint(one.layer, f"layer-{one.layer}"), name, exports(one), one.known_by, order


def exports(one: who.Member) -> str:
    """ "637 driver, 380 runtime, dlsym, answers for cuMemAlloc_v2"."""
    counts = [f"{one.exports[kind]} {word}" for kind, word in KINDS if kind in one.exports]
    names = ", ".join(one.answers[:MOST_NAMES]) + (" …" if one.answers[MOST_NAMES:] else "")
    return ", ".join([*counts, *one.resolvers, *([f"answers for {names}"] if names else [])])
