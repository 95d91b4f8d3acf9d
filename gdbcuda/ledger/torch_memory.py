"""PyTorch's segments beside the blocks of a log: which call made each, and which lines of Python hold what is in it.

A quota counts segments, for those are asked of the driver; users think of tensors. Their difference is PyTorch's cache.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from gdbcuda.calls.text import CallWriter
from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.ledger import ledger_data
from gdbcuda.ledger.blocks import Block
from gdbcuda.ledger.book import Ledger
from gdbcuda.ledger.views import ROWS, site
from gdbcuda.pytorch.segments import TorchBlock, TorchSegment
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted
from gdbcuda.text.units import human

NO_HISTORY = ("Which lines hold the tensors the snapshot does not say: torch.cuda.memory._record_memory_history() "
              "before they are made keeps it.")  # fmt: skip
NOT_IN_MEMORY = ("Which lines hold the tensors a snapshot says (torch.cuda.memory._dump_snapshot): "
                 "gdbcuda log memory --torch reads it.")  # fmt: skip


@dataclass(frozen=True)
class HeldByLine:
    """``frame`` is None where no history was kept."""

    frame: PythonFrame | None
    blocks: list[TorchBlock]
    segments: list[TorchSegment]

    @property
    def bytes(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def line(self) -> str:
        return "" if self.frame is None else own_code.text(self.frame)


class TorchMemory:
    """``made_by``: of each segment's address the blocks that the log knows there, the latest at each place; several
    where a segment is mapped piece by piece. ``has_log``: there is one to look in.
    ``without_lines``: what is said where nobody knows who holds the tensors."""

    def __init__(
        self, segments: Sequence[TorchSegment], ledger: Ledger | None, without_lines: str = NO_HISTORY
    ) -> None:
        self.without_lines = without_lines
        self.segments, self.has_log = sorted(segments, key=lambda one: -one.size), ledger is not None
        blocks = ledger.blocks.all() if ledger is not None else ()
        latest = {block.address: block for block in blocks if block.kind in ("device", "mapping")}
        self.starts = sorted(latest)
        self.made_by = {one.address: [latest[at] for at in self.inside(one)] for one in segments}
        self.beside = beside(latest.values(), {b for found in self.made_by.values() for b in found})

    def inside(self, one: TorchSegment) -> list[int]:
        return self.starts[bisect_left(self.starts, one.address) : bisect_left(self.starts, one.address + one.size)]

    @property
    def known(self) -> int:
        """Segments."""
        return sum(bool(found) for found in self.made_by.values())

    def lines(self) -> list[HeldByLine]:
        """Those that hold tensors, the most bytes first."""
        found: dict[str, HeldByLine] = {}
        for segment in self.segments:
            for block in (block for block in segment.blocks if block.is_in_tensor):
                frame = own_code.site(block.frames)
                one = found.setdefault("" if frame is None else own_code.text(frame), HeldByLine(frame, [], []))
                one.blocks.append(block)
                if segment not in one.segments[-1:]:
                    one.segments.append(segment)
        return sorted(found.values(), key=lambda one: -one.bytes)


def beside(blocks: Iterable[Block], of_torch: set[Block]) -> list[Block]:
    """What else was live when PyTorch's last segment was made: libraries and the program allocate by themselves."""
    if not of_torch:
        return []
    last = max(block.call.number for block in of_torch)
    others = (block for block in blocks if block not in of_torch and block.call.number < last)
    return [block for block in others if block.release is None or block.release.number > last]


def shown(
    segments: Sequence[TorchSegment], ledgers: Iterable[Ledger], writer: CallWriter, as_json: bool
) -> str | dict[str, Any]:
    """Of a log of several processes for that whose segments these are."""
    found = max((TorchMemory(segments, one) for one in ledgers), key=lambda one: one.known, default=None)
    if found is None:
        raise UserError("the log has no calls: which of them PyTorch's memory comes from is unknown")
    return as_data(found, writer) if as_json else text(found, writer)


def text(found: TorchMemory, writer: CallWriter) -> str:
    if not found.segments:
        return "PyTorch has no memory of a GPU."
    devices = sorted({one.device for one in found.segments})
    lines = [device_text([one for one in found.segments if one.device == device], device) for device in devices]
    known = [known_text(found)] if found.has_log else []
    return "\n".join([*lines, *known, "", segments_table(found, writer), "", lines_text(found)])


def device_text(segments: Sequence[TorchSegment], device: int) -> str:
    tensors = [block for one in segments for block in one.blocks if block.is_in_tensor]
    size, held, waiting, cached = (human(sum(map(attrgetter(name), segments)))
                                   for name in ("size", "in_tensors", "waiting", "cached"))  # fmt: skip
    asked = human(sum(block.asked for block in tensors))
    waits = f"{waiting} wait for another stream, " if any(one.waiting for one in segments) else ""
    return (f"Device {device}: PyTorch has {size} in {counted(len(segments), 'segment')}. {held} of it are in "
            f"{counted(len(tensors), 'tensor')} (which need {asked}), {waits}{cached} are cached.")  # fmt: skip


def known_text(found: TorchMemory) -> str:
    count, others = len(found.segments), sum(block.size for block in found.beside)
    how_many = "all of them" if found.known == count else f"{found.known} of {count}" if found.known else "none of them"
    more = f" Beside them {human(others)} were live, in {counted(len(found.beside), 'block')}." if others else ""
    return f"The log knows who made the segments, {how_many}. A quota counts them whole, with the cache.{more}"


def segments_table(found: TorchMemory, writer: CallWriter) -> str:
    rows = [(f"{one.address:#x}", human(one.size), human(one.in_tensors), human(one.cached),
             "expandable" if one.is_expandable else visible(one.kind), *maker(found.made_by[one.address], writer))
            for one in found.segments[:ROWS]]  # fmt: skip
    left, titles = len(found.segments) - len(rows), ["segment", "bytes", "in tensors", "cached", "kind", "by", "site"]
    columns = len(titles) if found.has_log else titles.index("by")
    table = render.table([row[:columns] for row in rows], titles[:columns])
    return table + (f"\n... and {left} smaller ones" if left else "")


def maker(blocks: Sequence[Block], writer: CallWriter) -> tuple[str, str]:
    if not blocks:
        return "not in the log", ""
    more = f" and {len(blocks) - 1} more" if len(blocks) > 1 else ""
    return f"#{blocks[0].call.number} {blocks[0].call.name}{more}", visible(writer.short(site(blocks[0], writer)))


def lines_text(found: TorchMemory) -> str:
    held = found.lines()
    if not held:
        return "No tensor holds memory."
    if all(one.frame is None for one in held):
        return found.without_lines
    rows = [(visible(one.line) or "unknown", human(one.bytes), len(one.blocks), len(one.segments))
            for one in held[:ROWS]]  # fmt: skip
    left = len(held) - len(rows)
    return render.table(rows, ["held by", "bytes", "tensors", "segments"]) + (f"\n... and {left} more" if left else "")


def as_data(found: TorchMemory, writer: CallWriter) -> dict[str, Any]:
    """Bytes, and addresses as text; ``made_by`` as in the ledger's blocks."""
    return {
        "segments": [{"address": hex(one.address), "bytes": one.size, "device": one.device, "kind": one.kind,
                      "expandable": one.is_expandable, "in_tensors": one.in_tensors, "waiting": one.waiting,
                      "cached": one.cached,
                      "made_by": [ledger_data.block(block, writer) for block in found.made_by[one.address]],
                      "blocks": [torch_block(block) for block in one.blocks]} for one in found.segments],
        "beside": [ledger_data.block(block, writer) for block in found.beside],
    }  # fmt: skip


def torch_block(one: TorchBlock) -> dict[str, Any]:
    return {"address": hex(one.address), "bytes": one.size, "asked": one.asked, "state": one.state,
            "python": [frame.as_data() for frame in one.frames]}  # fmt: skip
