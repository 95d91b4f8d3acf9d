"""The file of a process's GPU records, read. It may be cut, or anything: what makes sense is taken."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files.word_layout import MOST_PIDS
from gdbcuda.gpu.gpu_layout import HEADER, KIND_BITS, KINDS, MAGIC, MARK, RECORDS, VERSION, WITH_TEXT, WORD
from gdbcuda.gpu.joined_calls import place_of

NAMES = {number: name for name, number in KINDS.items()}
HEAD_SIZE = HEADER["SIZE"] * WORD
LATEST = 1 << 62  # nanoseconds
WORK = ("KERNEL", "COPY", "FILL", "WAIT", "MEMORY", "POOL", "UNIFIED")
MOST = 20_000_000  # records: what a machine has memory for


@dataclass(frozen=True)
class GpuRecord:
    """``record["START"]``: a field as `gpu_layout.RECORDS` has it."""

    kind: str
    words: tuple[int, ...]

    def __getitem__(self, name: str) -> int:
        return self.words[RECORDS[self.kind][name]]

    def three(self, name: str) -> list[int]:
        at = RECORDS[self.kind][name]
        return list(self.words[at : at + 3])


class KeptRecords:
    """Of a file, each made when it is asked for: as tuples of numbers they need ten times the room."""

    def __init__(self, raw: bytes = b"") -> None:
        self.raw, self.offsets = raw, array("Q")

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, at: int) -> GpuRecord:
        return record_at(self.raw, self.offsets[at])

    def __iter__(self) -> Iterator[GpuRecord]:
        return (record_at(self.raw, offset) for offset in self.offsets)


class SeenCall(NamedTuple):
    """A call that CUPTI itself has seen. Times are those of its clock."""

    start: int
    end: int
    thread: int
    name: str
    is_runtime: bool
    result: int


class ClockLook(NamedTuple):
    """CUPTI's clock was ``gpu`` between two looks at CLOCK_MONOTONIC."""

    before: int
    gpu: int
    after: int


@dataclass
class GpuFile:
    """``work``: what is told of as it came. By correlation: ``causes``, calls of the recorder as `place_of` has them,
    and ``calls``, where in the file one is that CUPTI has seen. ``devices``: their names."""

    pid: int
    monotonic: int
    has_causes: bool
    cupti: int
    names: dict[int, str] = field(default_factory=dict)
    looks: list[ClockLook] = field(default_factory=list)
    work: KeptRecords = field(default_factory=KeptRecords)
    causes: dict[int, int] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    dropped: int = 0
    unread: int = 0
    has_ended: bool = False
    is_cut: bool = False

    def add(self, one: GpuRecord, text: str, offset: int) -> None:
        if one.kind in WORK:
            self.work.offsets.append(offset)
            self.has_ended = False  # abort() may be handled, and the program go on
        elif one.kind == "NAME":
            self.names[one["NUMBER"]] = text
        elif one.kind == "CLOCK":
            self.looks.append(ClockLook(one["BEFORE"], one["GPU"], one["AFTER"]))
        elif one.kind == "CAUSE":
            self.causes[one["CORRELATION"]] = place_of(one["THREAD"], one["POSITION"])
        elif one.kind == "CALL":
            self.calls[one["CORRELATION"]] = offset
        elif one.kind == "DEVICE":
            self.devices[one["DEVICE"]] = self.name(one["NAME"])
        else:
            self.add_remark(one, text)

    def add_remark(self, one: GpuRecord, text: str) -> None:
        if one.kind == "DROPPED":
            self.dropped += one["COUNT"]
        elif one.kind == "UNREAD":
            self.unread += one["COUNT"]
        elif one.kind == "REMARK":
            self.remarks.append(text)
        elif one.kind == "END":
            self.has_ended = True

    def name(self, number: int) -> str:
        return self.names.get(number, "?")

    def seen_call(self, correlation: int) -> SeenCall | None:
        if correlation not in self.calls:
            return None
        one = record_at(self.work.raw, self.calls[correlation])
        return SeenCall(one["START"], one["END"], one["THREAD"], self.name(one["NAME"]), bool(one["IS_RUNTIME"]),
                        one["RESULT"])  # fmt: skip

    def problems(self) -> Counter[str]:
        """What is not told, and how often."""
        found = Counter({f"GPU of process {self.pid}: {one}": 1 for one in self.remarks})
        found["a record of the GPU that was dropped: there was no room for it"] += self.dropped
        found["a record of the GPU of an unknown kind"] += self.unread
        if not self.has_ended and not self.remarks:
            found[f"GPU of process {self.pid}: it was killed, the last tenth of a second may be missing"] += 1
        if self.is_cut:
            found[f"GPU of process {self.pid}: the end of its file makes no sense"] += 1
        return +found


def gpu_file(raw: bytes) -> GpuFile:
    """`UserError` for what is no such file."""
    if len(raw) < HEAD_SIZE:
        raise UserError("its beginning is missing")
    words = struct.unpack_from(f"<{HEADER['SIZE']}Q", raw)
    if words[HEADER["MAGIC"]] != MAGIC:
        raise UserError("no records of a GPU")
    if words[HEADER["VERSION"]] != VERSION:
        raise UserError("written by another version of gdbcuda")
    found = GpuFile(words[HEADER["PID"]] % MOST_PIDS, words[HEADER["MONOTONIC"]] % LATEST,
                    bool(words[HEADER["HAS_CAUSES"]]), words[HEADER["CUPTI"]], work=KeptRecords(raw))  # fmt: skip
    for one in records(raw, found):
        found.add(*one)
    return found


def record_at(raw: bytes, offset: int) -> GpuRecord:
    """That was found there."""
    kind = NAMES[raw[offset]]
    return GpuRecord(kind, struct.unpack_from(f"<{RECORDS[kind]['SIZE']}Q", raw, offset))


def records(raw: bytes, of: GpuFile) -> Iterator[tuple[GpuRecord, str, int]]:
    """Each, its text, and where it is; up to one that is cut, or none."""
    at, count = HEAD_SIZE, 0
    while at + WORD <= len(raw) and count < MOST:
        head = int.from_bytes(raw[at : at + WORD], "little")
        kind, size = NAMES.get(head & ((1 << KIND_BITS) - 1)), head >> KIND_BITS & 0xFFFFFF
        least = RECORDS[kind]["SIZE"] if kind else 1
        if head >> 32 != MARK or size < least or at + size * WORD > len(raw):
            of.is_cut = True
            return
        if kind:
            one = GpuRecord(kind, struct.unpack_from(f"<{least}Q", raw, at))
            yield one, text_in(raw, at, size, least) if kind in WITH_TEXT else "", at
        at, count = at + size * WORD, count + 1


def text_in(raw: bytes, at: int, size: int, least: int) -> str:
    found = raw[at + (least - 1) * WORD : at + size * WORD].partition(b"\0")[0]
    return found.decode("utf-8", "replace")
