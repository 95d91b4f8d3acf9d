"""What gdb's own suite has said, as text and as JSON."""

from __future__ import annotations

import json

from gdb_suite import Outcome
from suite_run import BARE, WITH
from suite_verdict import totals

from gdbcuda.text.render import table

SHOWN = 8  # names of a file; after a hang all that follow are other


def as_text(outcomes: list[Outcome]) -> str:
    parts = [summary(outcomes)]
    for one in outcomes:
        parts += [left_out(one), found(one, "differs", "differs"), found(one, "flaky", "not steady, does not count"),
                  found(one, "explained", "differs, as it has to")]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def summary(outcomes: list[Outcome]) -> str:
    rows = []
    for one in outcomes:
        if one.unavailable:
            rows.append((one.gdb, f"not run: {one.unavailable}", "", "", "", "", ""))
            continue
        said = totals(one.records)
        passed, failed = said["PASS"], sum(said[kind] for kind in ("FAIL", "UNRESOLVED", "ERROR"))
        rows.append((one.gdb, f"{len(one.records)}", f"{passed}", f"{failed}", f"{said['loaded']} of {said['gdbs']}",
                     f"{len(one.having('differs'))}", f"{one.seconds / 60:.0f} min"))  # fmt: skip
    titles = ["gdb", "files", "passed without", "failed without", "gdbs started with it", "files that differ", "time"]
    return table(rows, titles)


def left_out(one: Outcome) -> str:
    return "\n".join(f"{one.gdb}: {folder} left out: {why}" for folder, why in sorted(one.left_out.items()))


def found(one: Outcome, what: str, title: str) -> str:
    rows = []
    for file, names in one.having(what).items():
        for name, (bare, along) in list(names.items())[:SHOWN]:
            rows.append((file, name, bare, along))
        if len(names) > SHOWN:
            rows.append((file, f"... and {len(names) - SHOWN} more", "", ""))
    return table(rows, [f"{one.gdb}: {title}", "result", "without", "with"]) if rows else ""


def as_json(outcomes: list[Outcome]) -> str:
    return json.dumps([of(one) for one in outcomes], indent=1)


def of(one: Outcome) -> dict[str, object]:
    def named(what: str) -> dict[str, dict[str, dict[str, str]]]:
        return {file: {name: {BARE: bare, WITH: along} for name, (bare, along) in names.items()}
                for file, names in one.having(what).items()}  # fmt: skip

    return {"gdb": one.gdb, "unavailable": one.unavailable, "left_out": one.left_out, "seconds": round(one.seconds),
            "files": [record.file for record in one.records], "without": totals(one.records),
            "differs": named("differs"), "flaky": named("flaky"), "explained": named("explained")}  # fmt: skip
