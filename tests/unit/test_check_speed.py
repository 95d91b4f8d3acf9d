"""100 MB and 2,000 symbols in under a second and under 200 MB of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from test_check_cli import ROOT

MEASURE = """
import resource, sys, time
from gdbcuda.check import check
start = time.perf_counter()
report = check(sys.argv[1])
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(report.findings))
"""


def test_a_large_library(tmp_path: Path) -> None:
    make = [sys.executable, ROOT / "scripts" / "large_library.py", tmp_path]
    library = subprocess.check_output(make, text=True).strip()
    assert 90e6 < os.path.getsize(library) < 120e6
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", MEASURE, library]
    runs = [subprocess.check_output(command, env=environment, text=True).split() for _ in range(3)]
    os.unlink(library)
    assert min(float(seconds) for seconds, _, _ in runs) < 1.0
    assert max(float(megabytes) for _, megabytes, _ in runs) < 200
