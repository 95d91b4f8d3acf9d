"""What tests of the shim share beside the fixtures of conftest.py."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
SHIM = ROOT / "shim"
HOOK = "libgdbcuda-hook.so"
# what is in libc itself from 2.34 on; linked only where it is needed
OLDER_LIBC = ("-Wl,--push-state,--as-needed", "-ldl", "-lpthread", "-Wl,--pop-state")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def make(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    return subprocess.run(["make", jobs, "-C", str(directory), *arguments], capture_output=True, text=True)


def build_shim(*targets: str) -> Path:
    """The build directory of the shim, brought up to date. Whoever builds there at the same time takes turns, the demo
    too: what a test has just built is not written again while it runs."""
    build = SHIM / "build"
    build.mkdir(exist_ok=True)
    with open(build / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = make(SHIM, "-s", *targets)
    assert made.returncode == 0, made.stdout + made.stderr
    return build


def has_real_driver() -> bool:
    """The loader finds one without being told where. (ldconfig(8).)"""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return "libcuda.so.1" in known


def clean_environment() -> dict[str, str]:
    """What the tests were started with, less everything that would change what a program loads."""
    unwanted = ("LD_", "GDBCUDA_", "CUDA_", "MAKE", "MFLAGS", "PYTHONPATH", "NO_COLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
