"""What each view of ``gdbcuda log`` takes: files, and what it shares with the prompt."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import FILE, one_of, text
from gdbcuda.command_line.options import Options, WideOptions, flag, option, options, required, word, words
from gdbcuda.command_line.shell_command import Coloured
from gdbcuda.log import FORMATS
from gdbcuda.log import options as shared


class LogOptions(Coloured):
    """Of every view but `DiffOptions`."""

    file: list[str] = words(FILE, "what cuda-log has written, or a folder of gdbcuda trace; - for stdin", least=1)

    @property
    def files(self) -> list[str]:
        return self.file


class ShowFilesOptions(LogOptions, shared.ShowOptions):
    pass


class TreeOptions(LogOptions, shared.LatestOptions):
    pass


class ChangesOptions(LogOptions, shared.FilterOptions, WideOptions):
    pass


class SummaryFilesOptions(LogOptions, shared.SummaryOptions):
    pass


class TimelineOptions(LogOptions, shared.DataOptions):
    pass


class MemoryFilesOptions(LogOptions, shared.WhereOptions, shared.LedgerOptions):
    view: str = option(
        text("VIEW"), "overview, live, leaks, peak, by-site, problems, reported, or an address", default="overview"
    )
    torch: str | None = option(FILE, "torch.cuda.memory._dump_snapshot's file: who made its segments, who holds them")


class ImportOptions(Options):
    file: str = word(FILE, "begin and end lines, JSON of Chrome or PyTorch's profiler, or an export of nsys")
    output: str = required(FILE, "the log to write", short="-o")


class KernelOptions(LogOptions, shared.DataOptions):
    output: str | None = option(FILE, "write the joined log: system calls below the call that made them", short="-o")
    without: list[str] = options(FILE, "the joined log, or each of the logs, of a run without the hook library: what "
                                 "it adds to each call of the program")  # fmt: skip


class GpuOptions(LogOptions, shared.DataOptions, WideOptions):
    all: bool = flag("all rows of each table, not only the first")


class CoverageFilesOptions(LogOptions, shared.CoverageOptions):
    hook: str = required(FILE, "the hook library's file")


class DiffOptions(Coloured, shared.WhichOptions, WideOptions):
    first: str = word(FILE, "what cuda-log has written; - for stdin")
    second: str = word(FILE, "the same of another run")

    @property
    def files(self) -> list[str]:
        return [self.first, self.second]


class ReportFilesOptions(LogOptions):
    output: str = required(FILE, "the page to write; of several logs the folder", short="-o")


class ExportOptions(LogOptions):
    format: str = option(one_of(*FORMATS), "what to write", default="chrome")
