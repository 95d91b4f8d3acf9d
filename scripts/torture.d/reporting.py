"""What the run says: a line for each finding, progress on the other output, a summary, JSON."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict

from cases import Finding, Result
from judging import SLOW


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tell(args: argparse.Namespace, results: Sequence[Result]) -> None:
    """Of the last of them."""
    played, found = (sum(len(getattr(one, what)) for one in results) for what in ("cases", "findings"))
    say(f"torture: {played} cases, {found} findings")
    for finding in results[-1].findings if not args.json else ():
        print(line_of(args, finding), flush=True)
    if results[-1].left_out:
        say(f"torture: left out: {results[-1].left_out}")
    if results[-1].error:
        say(f"torture: not played: {results[-1].error}")


def line_of(args: argparse.Namespace, finding: Finding) -> str:
    gdb = f" --gdb {args.gdb}" if args.gdb != "gdb" else ""
    often = f"{finding.found} of {finding.runs} runs; gdb alone {finding.control_found} of {finding.control_runs}"
    often += f", in {finding.control_worse} more it failed worse" if finding.control_worse else ""
    mark = "gdb alone has it too: " if finding.is_gdbs and finding.kind != SLOW else ""
    what = f"{mark}{finding.kind}: {finding.text}"
    return f"--seed {args.seed} --case {finding.case}{gdb}  {what} ({often}) [{finding.about}]"


def report(args: argparse.Namespace, results: Sequence[Result], seconds: float, missing: Sequence[str]) -> None:
    findings = [one for result in results for one in result.findings]
    errors = [result.error for result in results if result.error]
    if args.json:
        print(json.dumps(as_data(args, results, seconds, missing), indent=1))
    played = sum(len(result.cases) for result in results)
    ours, all_cases = ({one.case for one in findings if not one.is_gdbs}, {one.case for one in findings})
    begin = "torture: interrupted" if args.is_interrupted else "torture"
    say(
        f"{begin}: --seed {args.seed}: {played} cases in {seconds:.0f} s; {len(ours)} with a fault, "
        f"{len(all_cases - ours)} where gdb alone has it too"
    )
    if missing and not args.only and args.case is None and not args.is_interrupted:
        say(f"torture: not tried: {', '.join(missing)}")
    if findings or errors:
        say(f"torture: sources, scripts and outputs are in {args.folder}")
    else:
        shutil.rmtree(args.folder, ignore_errors=True)


def as_data(
    args: argparse.Namespace, results: Sequence[Result], seconds: float, missing: Sequence[str]
) -> dict[str, object]:
    return {
        "seed": args.seed,
        "gdb": args.gdb,
        "cases": {case: took for result in results for case, took in result.times.items()},
        "seconds": round(seconds),
        "findings": [asdict(one) | {"gdb_alone": one.is_gdbs} for result in results for one in result.findings],
        "errors": [result.error for result in results if result.error],
        "not_tried": list(missing),
        "folder": str(args.folder),
    }
