"""What two runs differ in, as one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gdbcuda.calls.text import duration
from gdbcuda.compare.compare_text import AbReport, costs, left_out, signed, verdict
from gdbcuda.compare.findings import Difference
from gdbcuda.text.printable import visible

STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #808080; --bad: #d33; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1rem 1.5rem 3rem; max-width: 110ch; }
h1 { font-size: 1.25rem; margin: 0; } h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: 2px 10px 2px 4px; border-bottom: 1px solid var(--line); vertical-align: top; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } .bad { color: var(--bad); }
pre { font: 12px ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0;
      color: var(--dim); }
"""
NUMBERS = ("times", "calls", "first", "second", "in all")


def page(report: AbReport) -> str:
    seen, asked = ([one for one in report.found if one.is_drivers == is_it] for is_it in (False, True))
    role = ' class="bad"' if report.found else ""
    times = [(one.name, str(one.calls), duration(one.ours), duration(one.theirs), signed(one.added))
             for one in report.times]  # fmt: skip
    parts = [
        f"<h1>What {text(report.labels[1])} changes in {text(report.program)}</h1>",
        f"<p{role}>{text(verdict(report))}</p>",
        listed("What the program sees", seen), listed("What the driver is asked", asked),
        listed("Allowed", report.allowed),
        *(f"<p>{text(line)}</p>" for line in (left_out(report) + "\n" + costs(report)).splitlines() if line),
        table("Time of a call", ("function", *NUMBERS[1:]), [[text(cell) for cell in row] for row in times]),
    ]  # fmt: skip
    title = f"<title>gdbcuda ab {text(report.program)}</title>"
    head = f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n{title}\n<style>{STYLE}</style>'
    return "\n".join([head, *filter(None, parts), "</html>", ""])


def listed(title: str, found: Sequence[Difference]) -> str:
    rows = [[f"{text(one.line)}<pre>{text(one.example)}</pre>", str(one.times)] for one in found]
    return table(title, ("difference, and the first call that has it", "times"), rows)


def table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are HTML."""
    kinds = [' class="n"' if name in NUMBERS else "" for name in headers]
    lines = ["".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row)) for row in rows]
    head = "".join(f"<th{kind}>{name}</th>" for kind, name in zip(kinds, headers))
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}</tr>\n{body}\n</table>" if lines else ""


def text(shown: str) -> str:
    return escape(visible(shown))
