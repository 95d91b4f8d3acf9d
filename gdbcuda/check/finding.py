"""What the check has to say: findings, and the report on one file that they make up."""

from __future__ import annotations

from typing import Any, NamedTuple

from gdbcuda.data_classes import dataclass, field

SEVERITIES = ("error", "warning", "note")  # worst first
JSON_VERSION = 1


class Finding(NamedTuple):
    """One thing found out. ``id`` and ``severity`` are stable, the texts are for people."""

    id: str  # "only-dlsym"
    severity: str  # one of SEVERITIES
    seen: str  # section, symbol, address: what the file says
    means: str  # for a hook library, or for the program
    do: str = ""  # what to type or change; lines that begin with four blanks are to be copied
    verdict: str = ""  # what it makes of the verdict of the report
    fatal: bool = False  # it or the program does not run at all: told before everything else


@dataclass
class Report:
    """The findings on one file, worst first; findings of a live process can be appended with ``add``."""

    path: str
    role: str  # "hook library", "program", "file" or "process"
    machine: str = ""
    build_id: str | None = None
    cuda: str = ""  # the versions of the API table that were compared with
    nvml: str = ""
    # of a hook library, complete: API functions by "exported", "hidden", "not_hooked", the important ones first
    functions: dict[str, list[str]] = field(default_factory=dict)
    good: str = "ready"  # the verdict when nothing is wrong
    findings: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Keeps the order: worst first, and as found within a severity."""
        self.findings.append(finding)
        self.findings.sort(key=lambda each: (SEVERITIES.index(each.severity), not each.fatal))

    def ids(self, severity: str | None = None) -> list[str]:
        """The ids of the findings, of one severity or of all."""
        return [finding.id for finding in self.findings if severity in (None, finding.severity)]

    @property
    def exit_status(self) -> int:
        """0: nothing worse than a warning; 1: an error."""
        return 1 if self.ids("error") else 0

    @property
    def verdict(self) -> str:
        """One line: what is wrong first of all, else that it is ready."""
        worst = next((finding for finding in self.findings if finding.verdict), None)
        if worst:
            return f"{worst.verdict} ({worst.id})"
        if self.ids("error"):
            return "not ready: " + ", ".join(self.ids("error"))
        if self.ids("warning"):
            return f"{self.good} with warnings: " + ", ".join(self.ids("warning"))
        return self.good

    def as_json(self) -> dict[str, Any]:
        """The shape of schema.json, definition "report"."""
        return {
            "file": self.path,
            "role": self.role,
            "machine": self.machine,
            "build_id": self.build_id,
            "cuda": self.cuda,
            "nvml": self.nvml,
            "verdict": self.verdict,
            "exit_status": self.exit_status,
            "functions": self.functions,
            "findings": [
                {
                    "id": each.id,
                    "severity": each.severity,
                    "seen": each.seen,
                    "means": each.means,
                    "do": each.do,
                }
                for each in self.findings
            ],
        }
