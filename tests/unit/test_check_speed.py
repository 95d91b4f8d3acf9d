"""A library of 100 MB and 2,000 symbols is checked in bounded memory. (Its time is measured in scripts/bench.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from test_check_cli import ROOT

# VmHWM, not ru_maxrss: that one still counts the process that was forked before the exec
MEASURE = """
import re, sys
from gdbcuda.check.file import check
report = check(sys.argv[1])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024, len(report.findings))
"""


def test_a_large_library(tmp_path: Path) -> None:
    make = [sys.executable, ROOT / "scripts" / "large_library.py", tmp_path]
    library = subprocess.check_output(make, text=True).strip()
    assert 90e6 < os.path.getsize(library) < 120e6
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    output = subprocess.check_output([sys.executable, "-c", MEASURE, library], env=environment, text=True)
    os.unlink(library)
    megabytes, findings = map(float, output.split())
    assert megabytes < 200
    assert findings > 0
