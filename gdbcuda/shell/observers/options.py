"""What ``gdbcuda trace`` takes for the other ways to watch."""

from __future__ import annotations

from gdbcuda.text.arguments import FILE, NUMBER, one_of, text
from gdbcuda.text.options import Options, flag, option, options

RECORDER, UPROBE, STRACE = "recorder", "uprobe", "strace"
WAYS = (RECORDER, UPROBE, STRACE)


class ObserverOptions(Options):
    way: str = option(
        one_of(*WAYS), "how calls are watched: recorder is a library in the program, uprobe is the kernel, over "
        "bpftrace; strace watches the system calls on NVIDIA's devices", "--with", default=RECORDER,
    )  # fmt: skip
    pid: int | None = option(
        NUMBER, "with uprobe and strace: watch a process that runs, and what it starts", "--pid", short="-p"
    )
    all_of: list[str] = options(FILE, "with uprobe: watch every process that calls LIB, those of later too", "--all-of")
    function: list[str] = options(text("FUNCTION"), "with uprobe: these functions alone: symbols, base names, globs")
    condition: str | None = option(text("COND"), "with uprobe: only calls for which COND holds; as far as it can be "
                                   "told there the kernel leaves the others out", "--if")  # fmt: skip
    cgroup: str | None = option(FILE, "with uprobe: only processes of this control group (version 2)")
    device: list[str] = options(text("GLOB"), "with strace: system calls on these files (default: /dev/nvidia*)")
    print: bool = flag("with uprobe: print the program for bpftrace, and watch nothing")

    def refuse_without_way(self) -> str:
        """The first option that the recorder does not have; "" for none."""
        given = {"-p": self.pid, "--all-of": self.all_of, "--function": self.function, "--if": self.condition,
                 "--cgroup": self.cgroup, "--device": self.device, "--print": self.print}  # fmt: skip
        return next((name for name, value in given.items() if value), "")
