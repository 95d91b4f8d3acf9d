"""One log as the views read it: a file, or what `gdbcuda trace` has left in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Callable

from gdbcuda import api
from gdbcuda.calls import captures, reader
from gdbcuda.calls.reader import Event, Log, LogFile
from gdbcuda.calls.text import CallWriter, Code, Paint, as_it_is, plainly
from gdbcuda.log.progress import Progress
from gdbcuda.log.selecting import select
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import with_counts

if TYPE_CHECKING:
    from gdbcuda.rings.traced.trace_folder import TraceFolder


class LogSource:
    """One file, or a folder of `gdbcuda trace`: its calls, what it says beside them, and a writer of lines in the words
    of its version.

    ``has_bar``: a progress bar on a terminal, which goes before a line is printed there (`make_room`)."""

    def __init__(self, path: str, paint: Paint = plainly, code: Code = as_it_is, has_bar: bool = True) -> None:
        self.path, self.log, self.has_bar = path, Log(), has_bar
        self.file = opened(path)
        self.make_room: Callable[[], None] = lambda: None
        head = self.file.header
        self.is_ours = bool(head)
        self.table = api.load(reader.version(head, "cuda"), reader.version(head, "nvml"))
        self.writer = CallWriter(self.table, self.log.notes, paint, code)

    def events(self, progress: Progress | None = None) -> Iterator[Event]:
        progress = progress or Progress(self.file.size)
        self.make_room = progress.make_room
        try:
            yield from captures.mark(self.file.events(self.log, progress if self.has_bar else None), reader.BEGIN)
        finally:
            progress.close()

    def refuse_unknown(self, functions: Sequence[str]) -> None:
        """`UserError`. (What a log of another program calls its functions nobody knows.)"""
        if self.is_ours:
            select.CallFilter(tuple(functions)).refuse_unknown(self.table)

    def problems(self) -> str:
        """What could not be read, for stderr."""
        return visible(f"gdbcuda: {self.path}: {with_counts(self.log.problems)}")


def opened(path: str) -> LogFile | TraceFolder:
    if not os.path.isdir(path):
        return reader.LogFile(path)
    from gdbcuda.rings.traced.trace_folder import TraceFolder

    return TraceFolder(path)
