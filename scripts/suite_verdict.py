"""Which results of a test file differ with the extension, by all of its runs: gdb's own tests are not all steady."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from suite_run import BARE, WAYS, WITH, Run

TRIES, MOST = 3, 10  # runs alone, each way, before a difference counts; and as long as it comes only now and then
SELDOM = 1  # a result that came so often in `MOST` runs is as well the machine's doing
# results that cannot be the same, and why
ANNOTATED = "gdb 16 annotates a breakpoint's stop once more where anybody listens to stops"
EXPLAINED = {
    ("gdb.base/default.exp", "show convenience"): "it lists every function $_..., so ours too",
    ("gdb.base/annota1.exp", "run until main breakpoint"): ANNOTATED,
    ("gdb.base/annota1.exp", "continue to printf"): ANNOTATED,
    ("gdb.base/annota1.exp", "send SIGUSR1"): ANNOTATED,
    **{(f"gdb.cp/{file}.exp", name): ANNOTATED for file in ("annota2", "annota3")
       for name in ("annotate-quit", "watch triggered on a.x")},
}  # fmt: skip


@dataclass
class Verdict:
    """Of one file, by name of the result: (without, with), each with how often, as "PASS 3, FAIL 1"."""

    differs: dict[str, tuple[str, str]] = field(default_factory=dict)
    flaky: dict[str, tuple[str, str]] = field(default_factory=dict)
    explained: dict[str, tuple[str, str]] = field(default_factory=dict)
    is_open: bool = False  # more runs are needed


class Record:
    """The runs of one file that count, kept in a file, so that a run that was cut off goes on."""

    def __init__(self, path: Path, file: str, keys: dict[str, str]) -> None:
        self.path, self.file, self.keys = path, file, keys
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.differed: bool = kept.get("differed", False)
        self.runs = {way: [Run(**run) for run in kept.get(way, ()) if run["key"] == keys[way]] for way in WAYS}

    def add(self, way: str, run: Run) -> None:
        self.runs[way].append(run)
        self.save()

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({"differed": self.differed, **{w: [asdict(r) for r in self.runs[w]] for w in WAYS}}))
        part.replace(self.path)

    def note(self, verdict: Verdict) -> None:
        if self.differed != bool(verdict.differs):
            self.differed = bool(verdict.differs)
            self.save()

    def is_begun(self) -> bool:
        return all(self.runs.values())

    def verdict(self) -> Verdict:
        verdict = Verdict()
        for name in dict.fromkeys(name for way in WAYS for run in self.runs[way] for name in run.results):
            self.judge(name, verdict)
        return verdict

    def judge(self, name: str, verdict: Verdict) -> None:
        bare, along = (Counter(outcome(run, name) for run in self.runs[way]) for way in WAYS)
        alone = [outcome(run, name) for run in self.runs[WITH] if run.alone]
        new = sum(one not in bare for one in alone)
        both = (counted(bare), counted(along))
        why = self.explained(name)
        if why and set(along) - set(bare):
            verdict.explained[f"{name}: {why}"] = both
        elif not set(along) - set(bare):
            if len(bare) > 1:
                verdict.flaky[name] = both
        elif len(alone) < TRIES or (0 < new < len(alone) < MOST):
            verdict.is_open = True
            verdict.differs[name] = both
        elif new > (SELDOM if new < len(alone) else 0):
            verdict.differs[name] = both
        else:
            verdict.flaky[name] = both

    def explained(self, name: str) -> str:
        why, version = EXPLAINED.get((self.file, name), ""), re.search(r"\b(\d+)\.\d", self.keys[BARE])
        is_older = why == ANNOTATED and not (version and int(version[1]) >= 16)
        return "" if is_older else why


def outcome(run: Run, name: str) -> str:
    return "+".join(run.results.get(name, ["none"]))


def counted(outcomes: Counter[str]) -> str:
    if len(outcomes) == 1:
        return next(iter(outcomes))
    return ", ".join(f"{one} {count}x" for one, count in outcomes.most_common())


def totals(records: list[Record]) -> Counter[str]:
    """Results of the first run without the extension, by kind, and the gdbs that were started in all runs."""
    found: Counter[str] = Counter()
    for record in records:
        for values in record.runs[BARE][0].results.values() if record.runs[BARE] else ():
            found.update(values)
        for run in record.runs[WITH]:
            found["gdbs"] += run.gdbs
            found["loaded"] += run.loaded
    return found
