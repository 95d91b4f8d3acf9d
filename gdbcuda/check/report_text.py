"""A report as text for people: a table, worst first, and the verdict in the last line."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence

from gdbcuda.check.finding import Finding, Report
from gdbcuda.text import fitting, render
from gdbcuda.text.printable import visible

_COPY = "    "  # a line that begins so is to be copied: never wrapped
_GAP = 2
_INDENT = "  "
_NARROWEST = 40


WHOLE, SEEN, LINE = range(3)  # what is told of a note: all; what was seen; so much of that as a line holds
_ENDINGS = ("", "What the notes mean, and what to do: --all", "Notes whole, what they mean, and what to do: --all")


def reports_text(
    reports: Sequence[tuple[Report, str]], *, colour: bool, width: int, between: str, is_all: bool
) -> str:
    """Each with the name that it goes by. What does not fit a terminal's screen says less of its notes."""
    text = ""
    for notes in (WHOLE, SEEN, LINE):
        texts = (report_text(one, colour=colour, width=width, name=name, notes=notes) for one, name in reports)
        text = between.join(texts) + (f"\n{_ENDINGS[notes]}" if notes else "")
        if is_all or render.screen() is None or fitting.lines_on_screen(text) <= fitting.SCREEN:
            break
    return text


def report_text(report: Report, *, colour: bool, width: int, name: str = "", notes: int = WHOLE) -> str:
    """Heading, table, verdict. ``name``: what the file is called there, for two may have one base name."""
    lines = [heading(report, colour)]
    if report.findings:
        lines.append(_findings(report, colour, width, notes))
    lines.append(verdict_line(report, colour, name))
    return "\n".join(lines)


def _findings(report: Report, colour: bool, width: int, notes: int) -> str:
    names = [_name(finding, notes, colour) for finding in report.findings]
    room = width - max(map(render.visible_width, names)) - _GAP
    if room >= _NARROWEST:
        rows = [[name, _cell(finding, colour, room, notes)] for name, finding in zip(names, report.findings)]
        titles = ["finding", "seen, what it means, -> what to do"]
        return render.table(rows, titles, colour=colour, lines=True, width=None)
    cells = ((name, _cell(one, colour, width - len(_INDENT), notes)) for name, one in zip(names, report.findings))
    return "\n".join(f"{' '.join(name.split())}\n{textwrap.indent(cell, _INDENT)}" for name, cell in cells)


def heading(report: Report, colour: bool) -> str:
    """What was looked at, and what it was compared with."""
    parts = [f"{report.role}, {report.machine}", f"CUDA {report.cuda}, NVML {report.nvml}"]
    if report.build_id:
        parts.append(f"build-id {report.build_id[:12]}")
    return render.fold_to_screen(f"{render.colour(report.path, 'title', colour)}  ({'; '.join(parts)})")


def verdict_line(report: Report, colour: bool, name: str = "") -> str:
    """ "libvgpu.so: ready with warnings: ..." """
    role = "error" if report.exit_status else "warning" if report.ids("warning") else "ok"
    return f"{visible(name or os.path.basename(report.path))}: {render.colour(report.verdict, role, colour)}"


def _name(finding: Finding, notes: int, colour: bool) -> str:
    between = " " if finding.severity == "note" and notes == LINE else "\n"
    return f"{render.colour(finding.severity, finding.severity, colour)}{between}{finding.id}"


def _cell(finding: Finding, colour: bool, width: int, notes: int) -> str:
    seen, means = visible(finding.seen), visible(finding.means)
    if finding.severity == "note" and notes == LINE:
        return textwrap.shorten(seen, width, placeholder=" ...")
    if finding.severity == "note" and notes == SEEN:
        return "\n".join(_wrapped(seen, width))
    if finding.severity == "note" and not finding.do:
        return "\n".join(_wrapped(f"{seen}; {means}", width))
    cell = _wrapped(seen, width)
    cell += [render.colour(line, "dim", colour) for line in _wrapped(means, width, _INDENT)]
    if finding.do:
        cell += [render.colour(line, "function", colour) for line in _wrapped("-> " + finding.do, width, _INDENT)]
    return "\n".join(cell)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most ``width`` columns; a path or an option is never cut in two."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_COPY):
            lines.append(line)
        else:
            lines += textwrap.wrap(
                line, width, initial_indent=indent, subsequent_indent=indent,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
    return lines
