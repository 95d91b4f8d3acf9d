"""Which trace a file is, and its log."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator

from gdbcuda.calls.reader import whole_lines
from gdbcuda.errors import UserError, cannot
from gdbcuda.files.reading import open_source
from gdbcuda.log.foreign import begin_end, chrome, nsys
from gdbcuda.log.foreign.json_stream import JsonStream
from gdbcuda.log.foreign.timed_calls import TimedCalls
from gdbcuda.log.progress import Progress

LARGEST = 64 << 30  # bytes of JSON
PIECE = 1 << 20
BEGINNING = 4096
GZIP = b"\x1f\x8b"
REPORTS = (".nsys-rep", ".qdrep")


def read(path: str) -> TimedCalls:
    """`UserError`, one line, for what is no trace."""
    calls = TimedCalls()
    try:
        source = open_source(path, "the file of a trace")
        start = source.read(0, min(source.size, BEGINNING), "its beginning")
        trace = Trace(path, is_packed=start.startswith(GZIP))
        start = next(trace.pieces(), b"")[:BEGINNING] if trace.is_packed else start
        if start.startswith(nsys.MAGIC):
            nsys.read(path, calls)
        elif path.endswith(REPORTS):
            raise UserError("a report that nsys alone reads: import what  nsys export --type sqlite  makes of it")
        elif is_lines(start):
            begin_end.read(trace.lines(), calls)
        elif not chrome.read(JsonStream(trace.pieces()), calls):
            calls = TimedCalls()
            chrome.read(JsonStream(trace.pieces()), calls, is_pytorchs=True)
    except UserError as problem:
        raise UserError(f"cannot import {path}: {str(problem).removeprefix(f'{path}: ')}") from None
    if not calls.calls:
        why = ", ".join(+calls.problems) or "nothing in it"
        raise UserError(f"cannot import {path}: it has no calls ({why})")
    return calls


def is_lines(start: bytes) -> bool:
    """The first line is an object of its own, with a phase."""
    try:
        found = json.loads(start.lstrip(b"\xef\xbb\xbf").split(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "traceEvents" not in found and "ph" not in found


class Trace:
    """``is_packed``: as PyTorch's handlers write it, and vLLM's: ``.pt.trace.json.gz``."""

    def __init__(self, path: str, is_packed: bool) -> None:
        self.path, self.is_packed = path, is_packed

    def pieces(self) -> Iterator[bytes]:
        """`UserError` for one that is damaged, and for one that is unpacked without an end."""
        total = 0
        try:
            with gzip.open(self.path) if self.is_packed else open(self.path, "rb") as file:
                progress = Progress(0 if self.is_packed else os.fstat(file.fileno()).st_size)
                while piece := file.read(PIECE):
                    total += len(piece)
                    if total > LARGEST:
                        raise UserError(f"JSON of more than {LARGEST >> 30} GiB is not read")
                    progress(len(piece))
                    yield piece
                progress.close()
        except (OSError, EOFError, zlib.error) as problem:
            raise self.damaged(problem) from None

    def damaged(self, problem: Exception) -> UserError:
        if self.is_packed:
            return UserError("a gzip file that is cut off or damaged")
        return cannot("read it", problem) if isinstance(problem, OSError) else UserError(str(problem))

    def lines(self) -> Iterator[tuple[bytes, bool]]:
        pieces = self.pieces()
        return whole_lines(b"", lambda: next(pieces, b""))
