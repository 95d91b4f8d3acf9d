"""Tables of an export of nsys. They come when there is something in them, and each version has other columns."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gdbcuda.log.progress import Progress

NANOSECONDS = 1e9
# The driver's calls are among the runtime's in most versions, and have a table of their own in others.
RUNTIME, DRIVER, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER", "StringIds"
KERNEL, MEMCPY, MEMSET, GRAPH, WAIT = (f"CUPTI_ACTIVITY_KIND_{one}" for one in
                                       ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", "SYNCHRONIZATION"))  # fmt: skip
OF_CALLS, OF_WORK = ("start", "end", "globalTid", "nameId"), ("start", "end", "deviceId", "streamId")
NEEDED = {STRINGS: ("id", "value"), **dict.fromkeys((RUNTIME, DRIVER), OF_CALLS),
          **dict.fromkeys((KERNEL, MEMCPY, MEMSET, GRAPH), OF_WORK)}  # columns that all versions have
LONG = (RUNTIME, DRIVER, KERNEL, MEMCPY, MEMSET, GRAPH, WAIT)  # tables that take time
LANE_BITS = 24
Row = dict[str, Any]


class Tables:
    """``problems`` gets what cannot be read."""

    def __init__(self, connection: sqlite3.Connection, problems: Counter[str]) -> None:
        self.connection, self.problems = connection, problems
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")  # a view may compute for ever
        self.names = {name for (name,) in found if isinstance(name, str)}
        self.progress = Progress(sum(map(self.length, LONG)))
        self.strings = {row.get("id"): row.get("value") for row in self.rows(STRINGS)}

    def length(self, table: str) -> int:
        """About, without reading it; 0 where that cannot be told. What is no table may compute for ever."""
        if table not in self.names:
            return 0
        try:
            found = self.connection.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0]
        except sqlite3.Error:  # it has no such numbers
            return 0
        return max(found, 0) if type(found) is int else 0

    def rows(self, table: str) -> Iterator[Row]:
        if table in self.names:
            cursor = self.connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            missing = next((one for one in NEEDED.get(table, ()) if one not in names), None)
            if missing is not None:
                unread = f"a row of {table}, which has no column {missing} (of an unknown version of nsys?)"
                self.problems[unread] += sum(1 for _ in cursor)
                return
            is_long = table in LONG
            for row in cursor:
                yield dict(zip(names, row))
                if is_long:
                    self.progress(1)


def lane_of(where: Any) -> tuple[int, int]:
    """Process and thread."""
    return (where >> LANE_BITS & 0xFFFFFF, where & 0xFFFFFF) if type(where) is int and where >= 0 else (0, 0)


def times(row: Row) -> tuple[Any, Any]:
    start, end = row.get("start"), row.get("end")
    if type(start) is not int or type(end) is not int:
        return None, None
    return start / NANOSECONDS, end / NANOSECONDS
