"""The steps of a sequence: as C, and what each of them does to the memory that is live.

(CUDA driver API reference, "Virtual Memory Management": physical memory lives until its last handle is released and
its last mapping is gone.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.data_classes import dataclass, field

ALLOCATE, FREE, AGAIN, MAP, UNMAP, RETAIN, IMPORT, BEGIN, END = (
    "allocate", "free", "free again", "map", "unmap", "retain", "import", "begin context", "end context")  # fmt: skip
GROW, UNMAP_ALL = "map and grow", "unmap all"  # two blocks at addresses side by side, and both at once
RESET = "reset context"  # the primary one, in which blocks are that no context was begun for
HOST, HOST_FREE = "get host memory", "free host memory"
GRAPH, LAUNCH, GRAPH_END = "make a graph", "launch a graph", "end a graph"  # with nodes that allocate
KEEP, TRIM = "let a pool keep", "trim a pool"
RESERVE, UNRESERVE = "reserve addresses", "free addresses"


class BooksStep(NamedTuple):
    """``block`` counts what is handed out; ``of`` is the block that a mapping or another handle is of."""

    what: str
    call: str  # in C, of `variable(block)`
    symbol: str
    block: int
    size: int = 0
    of: int = 0
    declared: str = ""  # the variable that it hands something out into
    context: int = 0  # with which the block ends
    other: int = 0  # of GROW: the second block


def variable(step_what: str, block: int) -> str:
    is_place = step_what in (MAP, UNMAP, GROW, UNMAP_ALL, RESERVE, UNRESERVE)
    return f"{'context' if step_what in (BEGIN, END) else 'place' if is_place else 'block'}{block}"


def as_c(steps: Sequence[BooksStep]) -> tuple[str, str]:
    """The variables, and the calls: a step that needs what was not handed out is left out when it runs."""
    variables = "\n".join(step.declared for step in steps if step.declared)
    return variables, "\n".join(statement(number, step) for number, step in enumerate(steps, 1))


def statement(number: int, step: BooksStep) -> str:
    call = f"step({number}, {step.call});"
    needed = needs(step)
    return f"if ({needed})\n    {call}" if needed else call


def needs(step: BooksStep) -> str:
    if step.what in (FREE, AGAIN, UNMAP, UNMAP_ALL, UNRESERVE, END, HOST_FREE, LAUNCH, GRAPH_END):
        return variable(step.what, step.block)
    if step.what == RETAIN:
        return variable(MAP, step.of)
    if step.what == GROW:
        return f"{variable(ALLOCATE, step.of)} && {variable(ALLOCATE, step.other)}"
    return variable(ALLOCATE, step.of) if step.what in (MAP, IMPORT) else ""


def told(step: BooksStep) -> str:
    """As an argument of told.c."""
    what = step.symbol if step.what in (ALLOCATE, FREE, AGAIN, HOST, HOST_FREE) else step.what
    return f"{what}:{step.block}:{step.size}:{step.of}:{step.other}"


@dataclass
class LiveMemory:
    """Bytes of a block, and how many handles and mappings keep them; they end with ``context``, unless it is 0.
    ``importers``: those handles and mappings that came by an import."""

    size: int
    holders: int = 1
    context: int = 0
    importers: int = 0


class Owner(NamedTuple):
    """Of a handle or a mapping: its memory, by the block that this was handed out as."""

    memory: int
    is_importer: bool = False


@dataclass
class Model:
    """What is live, by what the calls have answered. An imported handle keeps memory, too: but that it is of memory
    which is counted already, the driver alone knows. So what only importers keep is not said to be live."""

    memory: dict[int, LiveMemory] = field(default_factory=dict)  # by the block that it was handed out as
    owners: dict[tuple[str, int], Owner] = field(default_factory=dict)  # of handles and mappings
    dropped: LiveMemory | None = None  # what the last step has given back a handle or a mapping of

    @property
    def live(self) -> int:
        return sum(one.size for one in self.memory.values() if one.holders)

    @property
    def imported(self) -> int:
        """Bytes that importers alone keep: who asks the driver counts them."""
        return sum(one.size for one in self.memory.values() if not one.holders)

    def made(self, step: BooksStep) -> None:
        """A step that has succeeded."""
        self.dropped = None
        if step.what == ALLOCATE:
            self.memory[step.block] = LiveMemory(step.size, 1, step.context)
            self.owners["block", step.block] = Owner(step.block)
        elif step.what in (MAP, GROW):
            self.hold("place", step.block, self.owners.get(("block", step.of)))
            self.hold("behind", step.block, self.owners.get(("block", step.other)))
        elif step.what == RETAIN:
            self.hold("block", step.block, self.owners.get(("place", step.of)))
        elif step.what == IMPORT:
            self.hold("block", step.block, self.owners.get(("block", step.of)), is_importer=True)
        elif step.what in (UNMAP, UNMAP_ALL):
            self.drop("place", step.block)
            self.drop("behind", step.block)
        elif step.what == FREE:
            self.drop("block", step.block)
        elif step.what in (END, RESET):
            self.memory = {block: one for block, one in self.memory.items() if one.context != step.block}

    def hold(self, kind: str, block: int, of: Owner | None, is_importer: bool = False) -> None:
        if of is None or of.memory not in self.memory:
            return
        owner = self.owners[kind, block] = Owner(of.memory, is_importer or of.is_importer)
        memory = self.memory[of.memory]
        memory.holders += not owner.is_importer
        memory.importers += owner.is_importer

    def drop(self, kind: str, block: int) -> None:
        owner = self.owners.pop((kind, block), None)
        memory = self.memory.get(owner.memory) if owner else None
        if owner is None or memory is None:
            return
        self.dropped = memory
        memory.holders -= not owner.is_importer
        memory.importers -= owner.is_importer
        if not memory.holders and not memory.importers:
            del self.memory[owner.memory]
