"""Which trace a file is, and its log."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from typing import Any

from gdbcuda.calls import reader
from gdbcuda.calls.reader import LogFile
from gdbcuda.errors import UserError
from gdbcuda.files.reading import open_source
from gdbcuda.log.foreign import begin_end, chrome, nsys
from gdbcuda.log.foreign.timed_calls import TimedCalls

LARGEST = 4 << 30  # bytes of JSON, which is read as a whole
PIECE = 64 << 20
BEGINNING = 4096
GZIP = b"\x1f\x8b"
REPORTS = (".nsys-rep", ".qdrep")


def read(path: str) -> TimedCalls:
    """`UserError`, one line, for what is no trace."""
    calls = TimedCalls()
    try:
        source = open_source(path, "the file of a trace")
        start = source.read(0, min(source.size, BEGINNING), "its beginning")
        packed = unpacked(path) if start.startswith(GZIP) else None
        start = start if packed is None else packed[:BEGINNING]
        if start.startswith(nsys.MAGIC):
            nsys.read(path, calls)
        elif path.endswith(REPORTS):
            raise UserError("a report that nsys alone reads: import what  nsys export --type sqlite  makes of it")
        elif is_lines(start):
            begin_end.read(LogFile(path).chunks() if packed is None else [(packed, False)], calls)
        else:
            chrome.read(document(contents(path) if packed is None else packed), calls)
    except UserError as problem:
        raise UserError(f"cannot import {path}: {str(problem).removeprefix(f'{path}: ')}") from None
    if not calls.calls:
        why = ", ".join(calls.problems) or "nothing in it"
        raise UserError(f"cannot import {path}: it has no calls ({why})")
    return calls


def is_lines(start: bytes) -> bool:
    """The first line is an object of its own, with a phase."""
    try:
        found = json.loads(start.lstrip(b"\xef\xbb\xbf").split(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "traceEvents" not in found and "ph" not in found


def contents(path: str) -> bytes:
    if os.path.getsize(path) > LARGEST:
        raise too_large()
    source = open_source(path)
    return b"".join(source.read(at, min(PIECE, source.size - at), "it") for at in range(0, source.size, PIECE))


def unpacked(path: str) -> bytes:
    """What PyTorch's handlers write, and vLLM's: ``.pt.trace.json.gz``."""
    try:
        with gzip.open(path) as file:
            found = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error):
        raise UserError("a gzip file that is cut off or damaged") from None
    if len(found) > LARGEST:
        raise too_large()
    return found


def too_large() -> UserError:
    return UserError(f"JSON of more than {LARGEST >> 30} GiB is not read")


def document(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig", "replace"), parse_constant=reader.refuse)
    except (ValueError, RecursionError):
        pass
    try:  # Chrome's own may end without its bracket
        text = raw.decode("utf-8-sig", "replace").rstrip().rstrip(",")
        return json.loads(text + "]", parse_constant=reader.refuse) if text.startswith("[") else fail()
    except (ValueError, RecursionError):
        return fail()


def fail() -> Any:
    raise UserError("neither JSON of a trace, nor lines with begins and ends, nor an export of nsys")
