"""Sequences of allocations, frees and mappings, written step by step; what is still live is given back at the end."""

from __future__ import annotations

from collections.abc import Container, Sequence

from gdbcuda import api
from gdbcuda.contract.books import steps
from gdbcuda.contract.books.glue import GLUE, GRAPH_NODES
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.books.steps import BooksStep
from gdbcuda.contract.c_programs.filling import block_type, texts
from gdbcuda.data_classes import dataclass, field
from gdbcuda.ledger.effects import roles

RESERVER = "cuMemAddressReserve"
GRANULE = 2 << 20  # of physical memory, and whole rows of an array


@dataclass
class Held:
    """What the sequence can give back, or map: ``allocator`` of its memory."""

    allocator: api.Function
    block: int
    size: int
    context: int = 0

    @property
    def is_physical(self) -> bool:
        return roles.kind_of(self.allocator) == "physical"


@dataclass
class CallSequence:
    """Written by its methods; ``steps`` is what came of it."""

    functions: MemoryFunctions
    steps: list[BooksStep] = field(default_factory=list)
    blocks: list[Held] = field(default_factory=list)
    places: list[Held] = field(default_factory=list)
    context: int = 0
    count: int = 0

    def next(self) -> int:
        self.count += 1
        return self.count

    def allocate(self, allocator: api.Function, size: int) -> Held:
        held = Held(allocator, self.next(), size)
        held.context = 0 if held.is_physical else self.context
        return self.take(held, f"{block_type(allocator)} block{held.block} = 0;")

    def take(self, held: Held, declared: str = "") -> Held:
        """Without a declaration the variable is one that was given back."""
        self.blocks.append(held)
        call = self.functions.call(held.allocator, f"block{held.block}", str(held.size))
        self.add(steps.ALLOCATE, call.text if call else "", held.allocator.symbol, held.block, held.size,
                 declared=declared, context=held.context)  # fmt: skip
        return held

    def add(self, what: str, call: str, symbol: str, block: int, size: int = 0, of: int = 0,
            declared: str = "", context: int = 0, other: int = 0) -> None:  # fmt: skip
        self.steps.append(BooksStep(what, call, symbol, block, size, of, declared, context, other))

    def free(self, held: Held, release: api.Function, again: bool = False) -> None:
        self.blocks.remove(held)
        call = self.functions.call(release, f"block{held.block}", str(held.size))
        for what in (steps.FREE, steps.AGAIN)[: 1 + again]:
            self.add(what, call.text if call else "", release.symbol, held.block, held.size)

    def map(self, held: Held) -> None:
        place = Held(held.allocator, self.next(), held.size)
        self.places.append(place)
        call = f"map(&place{place.block}, block{held.block}, {held.size})"
        self.add(steps.MAP, call, "cuMemMap", place.block, held.size, held.block,
                 f"CUdeviceptr place{place.block} = 0;")  # fmt: skip

    def unmap(self, place: Held) -> None:
        self.places.remove(place)
        self.add(steps.UNMAP, f"unmap(place{place.block}, {place.size})", "cuMemUnmap", place.block, place.size)

    def grow(self, first: Held, second: Held) -> Held:
        """Both at addresses side by side, for a room that was reserved at first."""
        place = Held(first.allocator, self.next(), first.size)
        name = f"place{place.block}"
        self.add(steps.GROW, f"grow(&{name}, block{first.block}, block{second.block}, {first.size})", "cuMemMap",
                 place.block, first.size, first.block, f"CUdeviceptr {name} = 0;", other=second.block)  # fmt: skip
        return place

    def unmap_all(self, place: Held) -> None:
        self.add(steps.UNMAP_ALL, f"unmap_all(place{place.block}, {place.size})", "cuMemUnmap", place.block, place.size)

    def host(self, allocator: api.Function, release: api.Function, size: int) -> None:
        """Got and given back."""
        name = f"block{self.next()}"
        calls = (self.functions.call(one, name, str(size)) for one in (allocator, release))
        got, given = (call.text if call else "" for call in calls)
        self.add(steps.HOST, got, allocator.symbol, self.count, size, declared=f"{block_type(allocator)} {name} = 0;")
        self.add(steps.HOST_FREE, given, release.symbol, self.count, size)

    def graph(self, allocator: api.Function, size: int, launches: int) -> None:
        """All of its nodes together allocate that size."""
        name = f"block{self.next()}"
        self.add(steps.GRAPH, f"make_graph(&{name}, {size // GRAPH_NODES})", allocator.symbol, self.count, size,
                 declared=f"CUgraphExec {name} = NULL;")  # fmt: skip
        for _ in range(launches):
            self.add(steps.LAUNCH, f"launch({name})", allocator.symbol, self.count, size)
        self.add(steps.GRAPH_END, f"end_graph({name})", allocator.symbol, self.count, size)

    def reserve(self, size: int) -> None:
        """Addresses, of which nothing is mapped; and given back."""
        name = f"place{self.next()}"
        self.add(steps.RESERVE, f"reserve(&{name}, {size})", RESERVER, self.count, size,
                 declared=f"CUdeviceptr {name} = 0;")  # fmt: skip
        self.add(steps.UNRESERVE, f"cuMemAddressFree({name}, {size})", "cuMemAddressFree", self.count, size)

    def keep(self, size: int) -> None:
        self.add(steps.KEEP, f"keep({size})", "cuMemPoolSetAttribute", 0, size)

    def trim(self) -> None:
        self.add(steps.TRIM, "trim()", "cuMemPoolTrimTo", 0)

    def retain(self, place: Held) -> Held:
        return self.other_handle(place, steps.RETAIN, "cuMemRetainAllocationHandle",
                                 "cuMemRetainAllocationHandle(&block{new}, (void *)place{old})")  # fmt: skip

    def import_(self, held: Held) -> Held:
        return self.other_handle(held, steps.IMPORT, "cuMemImportFromShareableHandle",
                                 "import(&block{new}, block{old})")  # fmt: skip

    def other_handle(self, of: Held, what: str, symbol: str, call: str) -> Held:
        held = Held(of.allocator, self.next(), of.size)
        self.blocks.append(held)
        self.add(what, call.format(new=held.block, old=of.block), symbol, held.block, of.size, of.block,
                 f"{block_type(of.allocator)} block{held.block} = 0;")  # fmt: skip
        return held

    def begin_context(self) -> None:
        self.context = self.next()
        self.add(steps.BEGIN, f"cuCtxCreate_v2(&context{self.context}, 0, 0)", "cuCtxCreate_v2", self.context,
                 declared=f"CUcontext context{self.context} = NULL;")  # fmt: skip

    def begin_primary(self) -> None:
        """It is there already: what is made now ends with it."""
        self.context = self.next()

    def end_primary(self) -> None:
        self.add(steps.RESET, "reset()", "cuDevicePrimaryCtxReset_v2", self.context)
        self.blocks = [one for one in self.blocks if not one.context]
        self.context = 0

    def end_context(self) -> None:
        """With the blocks that were made in it."""
        self.add(steps.END, f"cuCtxDestroy_v2(context{self.context})", "cuCtxDestroy_v2", self.context)
        self.blocks = [one for one in self.blocks if not one.context]
        self.context = 0

    def give_back(self) -> None:
        if self.context:
            self.end_context()
        for place in list(self.places):
            self.unmap(place)
        self.give_back_handles()

    def give_back_handles(self) -> None:
        for held in list(self.blocks):
            self.free(held, self.functions.releases(held.allocator)[-1])


def helpers(functions: MemoryFunctions, written: Sequence[BooksStep]) -> str:
    """The C functions that the calls are made with."""
    symbols = {step.symbol for step in written if step.what in (steps.ALLOCATE, steps.HOST)}
    glue = [text for what, text in GLUE.items() if any(step.what == what for step in written)]
    return "\n".join(filter(None, [of_allocators(functions, symbols), *glue]))


def of_allocators(functions: MemoryFunctions, symbols: Container[str]) -> str:
    return texts(helper for one in functions.allocators if one.symbol in symbols
                 for helper in getattr(functions.call(one, "block", "size"), "helpers", ()))  # fmt: skip


def all_helpers(functions: MemoryFunctions) -> str:
    return "\n".join([of_allocators(functions, {one.symbol for one in functions.allocators}), *GLUE.values()])


def told_calls(functions: MemoryFunctions) -> str:
    """What told.c can be told."""
    lines = {}
    for allocator in [*functions.allocators, *functions.of_host]:
        block = f"*({block_type(allocator)} *)&blocks[block]"
        lines[allocator.symbol] = call_text(functions, allocator, block)
        for release in functions.releases(allocator):
            given = next(p.type.spelling for p in release.parameters if p.block)
            text = call_text(functions, release, f"*({given} *)&blocks[block]")
            lines[release.symbol] = f"blocks[block] ? {text} : SKIPPED"
    lines[steps.MAP] = "blocks[of] ? map(&places[block], blocks[of], size) : SKIPPED"
    lines[steps.UNMAP] = "places[block] ? unmap(places[block], size) : SKIPPED"
    lines[steps.GROW] = "blocks[of] && blocks[other] ? grow(&places[block], blocks[of], blocks[other], size) : SKIPPED"
    lines[steps.UNMAP_ALL] = "places[block] ? unmap_all(places[block], size) : SKIPPED"
    lines[steps.RESERVE] = "reserve(&places[block], size)"
    lines[steps.UNRESERVE] = "places[block] ? cuMemAddressFree(places[block], size) : SKIPPED"
    lines[steps.GRAPH] = f"make_graph((CUgraphExec *)&blocks[block], size / {GRAPH_NODES})"
    lines[steps.LAUNCH] = "blocks[block] ? launch((CUgraphExec)blocks[block]) : SKIPPED"
    lines[steps.GRAPH_END] = "blocks[block] ? end_graph((CUgraphExec)blocks[block]) : SKIPPED"
    lines |= {steps.RESET: "reset()", steps.KEEP: "keep(size)", steps.TRIM: "trim()"}
    lines[steps.RETAIN] = "places[of] ? cuMemRetainAllocationHandle(&blocks[block], (void *)places[of]) : SKIPPED"
    lines[steps.IMPORT] = "blocks[of] ? import(&blocks[block], blocks[of]) : SKIPPED"
    lines[steps.BEGIN] = "cuCtxCreate_v2((CUcontext *)&contexts[block], 0, 0)"
    lines[steps.END] = "contexts[block] ? cuCtxDestroy_v2((CUcontext)contexts[block]) : SKIPPED"
    return "\n".join(f'if (strcmp(what, "{what}") == 0)\n    return {text};' for what, text in lines.items())


def call_text(functions: MemoryFunctions, function: api.Function, block: str) -> str:
    call = functions.call(function, block, "size")
    return call.text if call else "SKIPPED"
