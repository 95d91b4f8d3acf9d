"""Files that the hook library's environment names, such as a region that processes share.

A case may leave one with a lock held, or with the share of a process that it has killed. The next case finds each file
as it was before the first one. A log is text, and its reader wants it: text stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from gdbcuda.data_classes import dataclass, field

LARGEST = 16 << 20  # bytes: what is larger is no region
SHARED_MEMORY = "/dev/shm"  # where glibc has what shm_open names


@dataclass
class NamedFiles:
    """``values`` of the variables. ``first`` is what each file held before any program began, ``before`` what it holds
    when a case begins; None where there is no file."""

    values: Iterable[str]
    first: dict[str, bytes | None] = field(default_factory=dict)
    before: dict[str, bytes | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.first = {path: contents(path) for path in paths(self.values) if may_be_region(path)}
        self.before = dict(self.first)

    def begins(self) -> None:
        self.before = self.now()

    def now(self) -> dict[str, bytes | None]:
        return {path: contents(path) for path in self.first}

    @property
    def is_changed(self) -> bool:
        return any(data != self.before[path] and not is_text(data) for path, data in self.now().items())

    def restore(self) -> None:
        for path, data in self.first.items():
            with suppress(OSError):  # not ours to write
                put_back(path, data)


def own(value: str, number: int) -> str:
    """Another name where it is one of a file that processes may share, for the worker of that number. What the file
    holds before the first case a worker's does not."""
    is_shared = "/" in value and may_be_region(value) and not is_text(contents(value))
    return f"{value}.{number}" if number and is_shared else value


def paths(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield value
        if value.startswith("/") and value.count("/") == 1:
            yield SHARED_MEMORY + value


def may_be_region(path: str) -> bool:
    """A file that is small enough, or a name that a file may get."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return os.path.basename(path) != "" and os.path.isdir(os.path.dirname(path) or ".")
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST


def is_text(data: bytes | None) -> bool:
    return bool(data) and b"\0" not in (data or b"")


def contents(path: str) -> bytes | None:
    """None where no file of that name can be read."""
    with suppress(OSError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(LARGEST)
    return None


def put_back(path: str, data: bytes | None) -> None:
    """What is as it was is not written. A file that was there stays the same file."""
    found = contents(path)
    if found == data or is_text(found):
        return
    if data is None:
        os.unlink(path)
        return
    with open(path, "r+b" if os.path.exists(path) else "wb") as file:
        file.write(data)
        file.truncate()
