"""What ``gdbcuda trace`` takes for the other ways to watch."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import FILE, NUMBER, TIME, one_of, text
from gdbcuda.command_line.options import Options, flag, option, options

RECORDER, UPROBE, STRACE = "recorder", "uprobe", "strace"
AUTO = "auto"
WAYS = (RECORDER, UPROBE, STRACE, AUTO)

OF_UPROBES = {"pid": "-p", "all_of": "--all-of", "function": "--function", "condition": "--filter",
              "cgroup": "--cgroup", "device": "--device", "print": "--print"}  # fmt: skip


class ObserverOptions(Options):
    way: str = option(
        one_of(*WAYS), "how calls are watched: recorder is a library in the program, uprobe is the kernel, over "
        "bpftrace; auto takes one of these; strace watches the system calls on NVIDIA's devices",
        "--with", default=RECORDER,
    )  # fmt: skip
    pid: int | None = option(
        NUMBER, "with uprobe and strace: watch a process that runs, and what it starts", "--pid", short="-p"
    )
    seconds: float | None = option(TIME, "with -p and --all-of: so long (default: until Ctrl-C)", "--for")
    all_of: list[str] = options(FILE, "with uprobe: watch every process that calls LIB, those of later too", "--all-of")
    function: list[str] = options(text("FUNCTION"), "with uprobe: these functions alone: symbols, base names, globs")
    condition: str | None = option(text("COND"), "with uprobe: only calls for which COND holds; as far as it can be "
                                   "told there the kernel leaves the others out", "--filter")  # fmt: skip
    cgroup: str | None = option(FILE, "with uprobe: only processes of this control group (version 2)")
    device: list[str] = options(text("GLOB"), "with strace: system calls on these files (default: /dev/nvidia*)")
    print: bool = flag("with uprobe: print the program for bpftrace, and watch nothing")

    def narrowed_by(self) -> str:
        """The options given that leave calls out."""
        return " and ".join(OF_UPROBES[key] for key in ("function", "condition") if getattr(self, key))

    def of_others(self) -> str:
        """The first option given that the recorder does not have; "" for none."""
        own, theirs = vars(ObserverOptions), vars(type(self))  # what a derived class declares anew is for every way
        given = (key for key in OF_UPROBES if getattr(self, key) and theirs.get(key, own[key]) is own[key])
        return OF_UPROBES.get(next(given, ""), "")
