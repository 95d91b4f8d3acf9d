"""Coverage for people, for scripts, and for what reads lcov's files."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gdbcuda.api.functions import suffix_order
from gdbcuda.coverage.reached import Coverage
from gdbcuda.elf.dwarf.lines import SourceLine
from gdbcuda.files import user_files
from gdbcuda.text import render
from gdbcuda.text.sentences import counted, some

MOST = 15  # rows of a table, unless all are wanted
WIDTH = 120


def told(found: Coverage, as_json: bool, is_all: bool, tracefile: str | None) -> str:
    """``tracefile``: written besides, for lcov."""
    remark = ""
    if tracefile:
        user_files.save(tracefile, lcov(found))
        remark = f"Wrote {tracefile}: {written(found)}."
    return json.dumps(data(found)) if as_json else "\n\n".join(filter(None, (text(found, is_all), remark)))


def written(found: Coverage) -> str:
    """ "1453 of 1453 functions have a line by debug info"."""
    unsure = len(found.hook.lines) - len(known_lines(found))
    lines, entries = len(found.hook.lines), len(found.hook.entries)
    verb, nameless = "has" if entries == 1 else "have", len(found.hooked) - entries
    more = f"; {nameless} without an exported name left out" if nameless else ""
    more += f"; {unsure} left out whose calls were not all recorded" if unsure else ""
    return f"{lines} of {counted(entries, 'function')} {verb} a line by debug info{more}"


def text(found: Coverage, is_all: bool = False) -> str:
    parts = [summary(found), families(found, is_all), functions(found, is_all), past(found), never(found, is_all),
             unknown(found, is_all)]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def summary(found: Coverage) -> str:
    hooked, reached = len(found.hooked), len(found.calls)
    calls = sum(map(found.count_of, found.calls))
    lines = [f"{found.hook.name}: {reached} of {counted(hooked, 'function')} reached, in {counted(calls, 'call')}"]
    if not reached:
        lines = [f"{found.hook.name}: none of {counted(hooked, 'function')} was reached"]
        if not found.unentered:
            lines.append("No call of the log is its own: was it loaded? gdbcuda check says how programs reach it.")
    went = Counter({name: sum(who.values()) for name, who in found.past.items()})
    if went:
        count = sum(went.values())
        lines.append(f"{counted(count, 'call')} of {counted(len(went), 'function')} went past it: "
                     f"{some([name for name, _ in went.most_common()])}")  # fmt: skip
    ways = found.ways(found.calls)
    if ways:
        lines.append(f"By which way: {shares(ways)}")
    if found.unentered:
        lines += unentered(found.unentered)
    return "\n".join(lines)


def unentered(calls: Mapping[str, int]) -> list[str]:
    come = "1 call came" if sum(calls.values()) == 1 else f"{sum(calls.values())} calls came"
    return [f"{come} out of it that no recorded call had gone into: {some(sorted(calls))}",
            "(Its own threads make such calls, and a recording that begins while one is in it sees some. Where a "
            "rewritten slot or an overwritten entry leads into it, gdbcuda trace records no entry: cuda-log in gdb "
            "does.)"]  # fmt: skip


def shares(ways: Mapping[str, int]) -> str:
    return ", ".join(f"{way} {count}" for way, count in ways.items())


def families(found: Coverage, is_all: bool) -> str:
    rows = found.families()
    shown = [one for one in rows if one.calls or one.past or is_all]
    left = len(rows) - len(shown)
    more = f"\n... and {left} more without a call: --all" if left else ""
    return render.table(shown, ["family", "hooked", "reached", "calls", "past it"]) + more if shown else ""


def functions(found: Coverage, is_all: bool) -> str:
    names = sorted(found.calls, key=lambda name: (-found.count_of(name), name))
    rows = [(name, found.count_of(name), shares(found.ways([name]))) for name in names]
    shown = rows if is_all else rows[:MOST]
    more = f"\n... and {len(rows) - len(shown)} more: --all" if len(rows) > len(shown) else ""
    return render.table(shown, ["reached", "calls", "by which way"]) + more if shown else ""


def past(found: Coverage) -> str:
    rows = [(name, sum(who.values()), some([one or "(not known)" for one, _ in who.most_common()]))
            for name, who in sorted(found.past.items(), key=lambda one: (-sum(one[1].values()), one[0]))]  # fmt: skip
    return render.table(rows, ["went past the hook", "calls", "called from"]) if rows else ""


def never(found: Coverage, is_all: bool) -> str:
    return listed("Never reached", found.never, is_all)


def unknown(found: Coverage, is_all: bool) -> str:
    what = f"Not known of {counted(len(found.unknown), 'function')}, whose calls were not all recorded"
    return listed(what, sorted(found.unknown, key=suffix_order), is_all)


def listed(what: str, names: list[str], is_all: bool) -> str:
    if not names:
        return ""
    more = "" if is_all or len(names) <= MOST else ": --all"
    told = f"{what}: {some(names, len(names) if is_all else MOST)}{more}"
    return "\n".join(textwrap.wrap(told, render.screen() or WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def data(found: Coverage) -> dict[str, Any]:
    past, unsure = found.past, found.unknown
    return {
        "hook": found.hook.path, "hooked": len(found.hooked), "reached": len(found.calls),
        "unentered": dict(found.unentered),
        "families": [one._asdict() for one in found.families()],
        "functions": [
            {"function": name, "calls": found.count_of(name), "ways": found.ways([name]), "own": found.own[name],
             "known": name not in unsure, "past": dict(past.get(name, {})), "source": source(found, name)}
            for name in sorted(found.hooked, key=suffix_order)
        ],
    }  # fmt: skip


def source(found: Coverage, name: str) -> str | None:
    line = found.hook.lines.get(name)
    return f"{line.path}:{line.line}" if line is not None else None


def lcov(found: Coverage) -> str:
    """A tracefile: of each source file its functions with the lines where they begin."""
    files: dict[str, list[tuple[int, str]]] = {}
    for name, at in known_lines(found).items():
        files.setdefault(at.path, []).append((at.line, name))
    return "".join(line + "\n" for path in sorted(files) for line in of_file(path, sorted(files[path]), found))


def known_lines(found: Coverage) -> dict[str, SourceLine]:
    unsure = found.unknown
    return {name: at for name, at in found.hook.lines.items() if name not in unsure}


def of_file(path: str, entries: list[tuple[int, str]], found: Coverage) -> Iterator[str]:
    """A line counts the calls of all functions that begin there: a macro may have made several."""
    lines: Counter[int] = Counter()
    yield "TN:gdbcuda"
    yield f"SF:{path}"
    for line, name in entries:
        yield f"FN:{line},{name}"
    for line, name in entries:
        lines[line] += found.count_of(name)
        yield f"FNDA:{found.count_of(name)},{name}"
    yield f"FNF:{len(entries)}"
    yield f"FNH:{sum(name in found.calls for _, name in entries)}"
    yield from (f"DA:{line},{count}" for line, count in lines.items())
    yield f"LF:{len(lines)}"
    yield f"LH:{sum(count > 0 for count in lines.values())}"
    yield "end_of_record"
