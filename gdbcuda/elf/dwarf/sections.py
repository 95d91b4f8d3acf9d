"""The debug sections as pyelftools wants them: streams that are read in blocks and not for ever.

pyelftools follows whatever a file says. So each of its reads is counted, here, and is never large.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gdbcuda.elf.contents import Contents
from gdbcuda.elf.dwarf.abbreviations import Abbreviations
from gdbcuda.errors import UserError

MOST_READS = 1_000_000  # 3 seconds; 2,000 units need a tenth of it
_BLOCK = 4096  # holds a unit's header and first entry
_LARGEST = 1 << 20
_LONGEST_STRING = 4096


class TooMuch(Exception):
    """There is more debug info than is worth reading for this."""


class Allowance:
    """How often pyelftools may still read, of all sections of a file together."""

    def __init__(self) -> None:
        self.left = MOST_READS

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooMuch


class Stream:
    """A file object over the content of a section; empty without one."""

    def __init__(self, contents: Contents | None, allowance: Allowance) -> None:
        self._contents = contents
        self._allowance = allowance
        self._at = self._start = 0
        self._block = b""

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        size = self._contents.readable if self._contents else 0
        self._at = max(0, offset + (0, self._at, size)[whence])
        return self._at

    def read(self, size: int = _LARGEST) -> bytes:
        """At most so many bytes. What pyelftools cannot do with fewer is an error that it tells."""
        self._allowance.spend()
        size = size if 0 <= size <= _LARGEST else _LARGEST
        begin = self._at - self._start
        if (begin < 0 or begin + size > len(self._block)) and self._contents:
            self._block = self._contents.read(self._at, max(size, _BLOCK))
            self._start, begin = self._at, 0
        piece = self._block[begin : begin + size]
        self._at += len(piece)
        return piece


class Info(DWARFInfo):
    """pyelftools' view of the sections, with abbreviations that are read one by one."""

    def __init__(self, name: str, sections: Mapping[str, Contents], little_endian: bool, bits: int) -> None:
        allowance = Allowance()
        given = inspect.signature(DWARFInfo.__init__).parameters  # other versions know other sections
        streams = {
            each: _described(each, sections.get("." + each[: -len("_sec")]), allowance)
            for each in given
            if each.endswith("_sec")
        }
        make: Any = super().__init__  # typed in some versions of pyelftools only
        make(config=DwarfConfig(little_endian, "", bits // 8), **streams)
        contents = sections.get(".debug_abbrev")
        data = contents.read(0, 32 << 20) if contents else b""
        self._abbreviations = Abbreviations(data, self.structs, self.debug_abbrev_sec.stream)
        self._name = name
        self._is_cut = any(each.readable < each.size for each in sections.values())

    def get_abbrev_table(self, offset: int) -> Any:
        return self._abbreviations.table(offset)

    def get_string_from_table(self, offset: int) -> bytes:
        return self._string(self.debug_str_sec.stream, offset)

    def get_string_from_linetable(self, offset: int) -> bytes:
        return self._string(self.debug_line_str_sec.stream, offset)

    def _string(self, stream: Stream, offset: int) -> bytes:
        """pyelftools's own goes on to the next zero, wherever in gigabytes that is."""
        stream.seek(offset)
        return stream.read(_LONGEST_STRING).partition(b"\0")[0]

    @contextmanager
    def told(self) -> Iterator[None]:
        """Whatever pyelftools raises means that it met something else than debug info: a fault of the file, or, where
        we did not unpack all of it, ours."""
        try:
            yield
        except Exception as problem:  # KeyError, TypeError, AssertionError, …: it checks little of what it reads
            ours = next((each for each in _history(problem) if isinstance(each, (UserError, TooMuch))), None)
            if ours is None and not self._is_cut:
                ours = UserError(f"{self._name}: .debug_info: corrupt or cut off")
            raise ours or TooMuch() from problem


def _history(problem: BaseException | None) -> Iterator[BaseException]:
    """pyelftools makes errors of its own of those that a stream raises."""
    while problem:
        yield problem
        problem = problem.__context__


def _described(name: str, contents: Contents | None, allowance: Allowance) -> Any:
    return DebugSectionDescriptor(Stream(contents, allowance), name, 0, contents.readable if contents else 0, 0)
