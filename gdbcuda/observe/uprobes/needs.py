"""What watching by uprobes needs of this machine, each in one line where it is missing."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator

from gdbcuda.errors import UserError
from gdbcuda.files import places

BPFTRACE = "bpftrace"
TYPES = "/sys/kernel/btf/vmlinux"
TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
UPROBES = ("/sys/bus/event_source/devices/uprobe/type", "/sys/kernel/tracing/uprobe_events",
           "/sys/kernel/debug/tracing/uprobe_events")  # fmt: skip
FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of the kernel: the one whose numbers its events have
FILES_OF_A_PROBE, FILES_BESIDE = 2, 64
BY_GROUP = (5, 11)  # Linux: from then on a program's memory counts to its control group, and not to ulimit -l
ENOUGH_LOCKED = 64 << 20


def missing() -> Iterator[str]:
    """What keeps uprobes from working here at all."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        yield f"calls are read on Linux on x86-64 alone, this is {platform.system()} on {platform.machine()}"
        return
    if not has_bpftrace() and not tracefs():
        yield ("no bpftrace on this machine (apt-get install bpftrace), and no tracefs in its place "
               f"(as root: mount -t tracefs tracefs {TRACEFS[0]})")
    if os.geteuid() != 0:
        yield "uprobes are for root (sudo)"
    elif not may_trace():
        yield "root may not trace in this container: it needs CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON"
    if not any(map(os.path.exists, UPROBES)):
        yield "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"


def require() -> None:
    problems = [*missing()]
    if problems:
        raise UserError(f"no uprobes here: {'; '.join(problems)}", page="other-eyes")


def has_bpftrace() -> bool:
    return places.on_path(BPFTRACE) is not None


def tracefs() -> str:
    """Where it takes uprobes from us; "" for nowhere."""
    found = (one for one in TRACEFS if os.access(os.path.join(one, "uprobe_events"), os.W_OK))
    return next(found, "")


def may_trace() -> bool:
    has = capabilities()
    sys_admin, perfmon, bpf = (bool(has >> bit & 1) for bit in (21, 38, 39))
    return sys_admin or (perfmon and bpf)


def capabilities() -> int:
    """Of this process, as a mask. (capabilities(7))"""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return next((int(line.split()[1], 16) for line in file if line.startswith("CapEff:")), 0)
    except OSError:
        return 0


def has_types() -> bool:
    return os.path.exists(TYPES)


def remarks() -> Iterator[str]:
    """What works less well here."""
    if not has_bpftrace():
        yield "no bpftrace here: by tracefs, without what calls write behind pointers (apt-get install bpftrace)"
        return
    if not has_types():
        yield f"this kernel does not tell its types ({TYPES}): processes that the program starts are not watched"
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    is_short = hard != resource.RLIM_INFINITY and hard < ENOUGH_LOCKED
    if kernel() < BY_GROUP and is_short and not capabilities() >> 24 & 1:
        yield f"ulimit -l is {hard >> 10} KiB, and Linux before 5.11 counts bpftrace's memory to it: raise it"


def kernel() -> tuple[int, ...]:
    numbers = platform.release().split("-")[0].split(".")
    return tuple(int(one) for one in numbers[:2] if one.isdigit())


def is_in_pid_namespace() -> bool:
    """Processes have other numbers here than in the kernel's events."""
    try:
        return os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE
    except OSError:
        return False


def allow_files(probes: int) -> None:
    """As many open files as bpftrace needs; `UserError` where that is not allowed."""
    needed = FILES_OF_A_PROBE * 2 * probes + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UserError(f"{probes} functions need {needed} open files, ulimit -n allows {hard}: name fewer functions")
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
