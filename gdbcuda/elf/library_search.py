"""Where the loader finds a library (ld.so(8)), on this machine or below the root of another one."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from functools import cached_property

from gdbcuda.elf import separate
from gdbcuda.elf.elf_file import Elf, open_elf
from gdbcuda.errors import UserError
from gdbcuda.files.reading import open_source

_MOST_LINKS = 40
_MOST_LIBRARIES = 300
_DEFAULTS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MULTIARCH = {"x86-64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "i386": "i386-linux-gnu"}


def debug_files(file: Elf, directory: str = "") -> Iterator[Elf]:
    """Those with the file's debug info that gdb would find, and take, below the directory."""
    for path in separate.candidates(file.path, file.build_id, file.debuglink, directory):
        if not os.path.isfile(path) or os.path.realpath(path) == os.path.realpath(file.path):
            continue
        try:
            found = open_elf(path)
            is_same = bool(file.build_id) and found.build_id == file.build_id
            if is_same or (file.debuglink and separate.crc(open_source(path)) == file.debuglink.crc):
                yield found
        except UserError:
            continue


class Root:
    """A file system: this machine's ("") or an unpacked image's. Paths inside it begin with "/"."""

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self.directory = os.path.abspath(directory) if directory and os.fspath(directory) != "/" else ""
        self._opened: dict[str, Elf | None] = {}

    def outside(self, inside: str) -> str:
        """The path by which this process reaches ``inside``: symbolic links stay below the root."""
        if not self.directory:
            return inside
        done: list[str] = []
        todo = [part for part in inside.split("/") if part][::-1]
        links = 0
        while todo:
            part = todo.pop()
            if part in (".", ".."):
                done = done[:-1] if part == ".." else done
                continue
            here = "/".join([self.directory, *done, part])
            if not os.path.islink(here) or links >= _MOST_LINKS:
                done.append(part)
                continue
            links += 1
            target = os.readlink(here)
            done = [] if target.startswith("/") else done
            todo.extend([part for part in target.split("/") if part][::-1])
        return "/".join([self.directory, *done])

    def of_user(self, path: str) -> str:
        """What a user means by ``path``: a place inside the root if it is there, else a path as usual."""
        inside = self.outside("/" + path.lstrip("/")) if self.directory else ""
        return inside if inside and os.path.exists(inside) else path

    @cached_property
    def configured(self) -> tuple[str, ...]:
        """Directories of /etc/ld.so.conf and what it includes."""
        return tuple(self._configuration("/etc/ld.so.conf", 0))

    def _configuration(self, inside: str, depth: int) -> Iterator[str]:
        path = self.outside(inside)
        try:
            if not os.path.isfile(path):  # a FIFO would be waited for
                return
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(1 << 20).splitlines()
        except OSError:
            return
        for line in (line.partition("#")[0].strip() for line in lines):
            if line.startswith("include") and depth < 4:
                pattern = os.path.join(os.path.dirname(inside), line[len("include") :].strip())
                for found in sorted(glob.glob(self.directory + pattern)):
                    yield from self._configuration(found[len(self.directory) :], depth + 1)
            elif line.startswith("/"):
                yield line

    def find(self, name: str, wanted_by: Elf) -> Elf | None:
        """The library that the loader would take for DT_NEEDED ``name``: the first of the right machine."""
        for directory in [""] if "/" in name else self._directories(wanted_by):
            found = self._library(self.outside(os.path.join(directory, name)))
            if found and (found.machine, found.header.bits) == (wanted_by.machine, wanted_by.header.bits):
                return found
        return None

    def _library(self, path: str) -> Elf | None:
        """Opened once, whoever needs it; None where there is none."""
        if path not in self._opened:
            try:
                self._opened[path] = open_elf(path) if os.path.isfile(path) else None
            except UserError:
                self._opened[path] = None
        return self._opened[path]

    def _directories(self, wanted_by: Elf) -> Iterator[str]:
        runpath, rpath = wanted_by.dynamic.texts("DT_RUNPATH"), wanted_by.dynamic.texts("DT_RPATH")
        yield from self._own(wanted_by, () if runpath else rpath)
        if not self.directory:
            yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
        yield from self._own(wanted_by, runpath)
        yield from self.configured
        for default in _DEFAULTS:
            if wanted_by.machine in _MULTIARCH and not default.endswith("64"):
                yield f"{default}/{_MULTIARCH[wanted_by.machine]}"
            yield default

    def _own(self, wanted_by: Elf, paths: tuple[str, ...]) -> Iterator[str]:
        origin = os.path.dirname(os.path.realpath(wanted_by.path))[len(self.directory) :]
        for directory in filter(None, ":".join(paths).split(":")):
            yield directory.replace("$ORIGIN", origin).replace("${ORIGIN}", origin)


class Libraries:
    """What a file needs, and what that needs: loaded breadth first, as the loader does."""

    def __init__(self, file: Elf, root: Root) -> None:
        self.found: dict[str, Elf] = {}  # by the name that asked for it
        self.missing: dict[str, str] = {}  # name -> path of who asked
        todo = [file]
        while todo and len(self.found) < _MOST_LIBRARIES:
            wanted_by = todo.pop(0)
            for name in wanted_by.needed:
                if name in self.found or name in self.missing:
                    continue
                library = root.find(name, wanted_by)
                if library is None:
                    self.missing[name] = wanted_by.path
                else:
                    self.found[name] = library
                    todo.append(library)
