"""The program for bpftrace: a line for each call that begins and each that returns.

    B NUMBER TIME PID TID SP BACK IP CODE WORD… | COMM | TEXT…      E NUMBER TIME TID SP RESULT WORD… | TEXT…

Numbers are hexadecimal, but for NUMBER. IP is where the function is in the process, CODE where its program begins (0
where the kernel does not tell its types): a process may be no more when somebody wants to know. The words of a begin
are those of the arguments, then what structs behind them hold; those of an end what was written behind pointers. What
belongs together is told by the thread, the stack pointer and the function: a call that jumps on to another one has its
stack pointer.
(Measured with bpftrace 0.17: a record has room in 512 bytes of the kernel's stack, and a text needs its room twice. A
register that is asked for ten times is read by way of a pointer that the kernel refuses: so it is read once.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from gdbcuda.data_classes import dataclass
from gdbcuda.observe.probes import Probe
from gdbcuda.rings.ring_functions import LONGEST_TEXT, recorded_words
from gdbcuda.rings.ring_layout import REGISTERS, STACK_WORDS, WORD

ROOM = 400  # bytes of a record, its texts counted twice
FIXED = 88  # bytes: function, time, pid, tid, stack pointer, return address, ip, code, comm
TEXT_SIZE = 64  # bytes of a text, with its end
READY, ENDED = "R", "X"
GENERATIONS = 3  # of processes that are looked at for one that is watched


@dataclass(frozen=True)
class WatchedProcesses:
    """Which processes: ``pid`` and those it starts, in a control group, or (0, "") all. ``has_types``: the kernel tells
    its own (BTF), so that parents can be asked for."""

    pid: int = 0
    cgroup: str = ""
    has_types: bool = True

    def test(self) -> str:
        """Whether a call is to be told; "" for every one."""
        tests = []
        if self.pid:
            parent, families = "curtask", ["@watched[pid]"]
            for _ in range(GENERATIONS if self.has_types else 0):
                parent += "->real_parent"
                families.append(f"@watched[{parent}->tgid]")
            tests.append("(" + " || ".join(families) + ")" if len(families) > 1 else families[0])
        if self.cgroup:
            tests.append(f'cgroup == cgroupid("{self.cgroup}")')
        return " && ".join(tests)


class ProbeRecord:
    """What the lines of one function hold."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe

    @cached_property
    def words(self) -> list[int]:
        """Indices of the argument words that the parameters need, of those that a kernel can read."""
        places = [place for place in recorded_words(self.probe.known.function) if place is not None]
        return sorted({index for place in places for index, _ in place if index < REGISTERS + STACK_WORDS})

    @cached_property
    def ins(self) -> list[tuple[int, int]]:
        return self.fitting(self.probe.known.ins, ROOM - FIXED - WORD * len(self.words))

    @cached_property
    def outs(self) -> list[tuple[int, int]]:
        return self.fitting(self.probe.known.outs, ROOM - FIXED)

    def fitting(self, wanted: Iterable[tuple[int, int]], room: int) -> list[tuple[int, int]]:
        found = []
        for index, size in wanted:
            needed = 2 * TEXT_SIZE if size == LONGEST_TEXT else -(-size // WORD) * WORD
            if index in self.words and needed <= room:
                found.append((index, size))
                room -= needed
        return found


def word(index: int) -> str:
    """An argument word: of a register, or of the stack above the return address."""
    return register(index) if index < REGISTERS else f"*(uint64*)($sp + {WORD * (index - REGISTERS + 1)})"


def register(index: int) -> str:
    """That of an argument, as `entry` has read it."""
    return f"$a{index}"


def behind(pointer: str, wanted: tuple[int, int]) -> list[str]:
    """The words there."""
    return [f"*(uint64*)({pointer} + {at})" for at in range(0, wanted[1], WORD)]


def entry(record: ProbeRecord, watched: WatchedProcesses, condition: str) -> Iterator[str]:
    test, code = watched.test(), "curtask->mm->start_code" if watched.has_types else "(uint64)0"
    number, keeps = record.probe.number, f"[tid, $sp, {record.probe.number}]"
    texts = [f"str({word(index)})" for index, size in record.ins if size == LONGEST_TEXT]
    words = [word(index) for index in record.words]
    for one in record.ins:
        words += behind(word(one[0]), one) if one[1] != LONGEST_TEXT else []
    values = ["nsecs", "pid", "tid", "$sp", "*(uint64*)$sp", 'reg("ip")', code, *words]
    form = f"B {number}{' %llx' * len(values)}|%s{'|%s' * len(texts)}\\n"
    yield f"uprobe:{record.probe.target}"
    yield f"/{test}/" if test else ""
    yield "{"
    read = sorted(set(re.findall(r"\$a(\d)", " ".join([condition, *values, *texts]))))
    yield '  $sp = reg("sp");' + "".join(f" {register(int(index))} = arg{index};" for index in read)
    yield from ("  @watched[pid] = (uint64)1;",) if "@watched" in test else ()
    yield f"  if ({condition}) {{" if condition else ""
    yield f'  printf("{form}", {", ".join([*values, "comm", *texts])});'
    yield f"  @inside{keeps} = (uint64)1;" if condition else ""
    for at, (index, _) in enumerate(record.outs):
        yield f"  @out{at}{keeps} = (uint64){word(index)};"
    yield "  }" if condition else ""
    yield "}"


def exit(record: ProbeRecord, test: str, condition: str) -> Iterator[str]:
    """The stack pointer is one word higher than it was at the entry."""
    number, at_return = record.probe.number, f'[tid, reg("sp") - {WORD}, {record.probe.number}]'
    kept, texts, words = f"[tid, $sp, {number}]", [], []
    for at, one in enumerate(record.outs):
        if one[1] == LONGEST_TEXT:
            texts.append(f"str($out{at})")
        else:
            words += behind(f"$out{at}", one)
    values = ["nsecs", "tid", "$sp", "retval", *words]
    form = f"E {number}{' %llx' * len(values)}{'|%s' * len(texts)}\\n"
    tests = [one for one in (test, f"@inside{at_return}" if condition else "") if one]
    yield f"uretprobe:{record.probe.target}"
    yield f"/{' && '.join(tests)}/" if tests else ""
    yield "{"
    yield f'  $sp = reg("sp") - {WORD};'
    yield from (f"  $out{at} = @out{at}{kept};" for at in range(len(record.outs)))
    yield f'  printf("{form}", {", ".join([*values, *texts])});'
    yield f"  delete(@inside{kept});" if condition else ""
    yield from (f"  delete(@out{at}{kept});" for at in range(len(record.outs)))
    yield "}"


def program(probes: Sequence[Probe], watched: WatchedProcesses, conditions: dict[int, str], note: str = "") -> str:
    """``conditions``: by number, what has to hold of a call, where something has to."""
    records = [ProbeRecord(one) for one in probes]
    maps = [f"@out{at}" for at in range(max((len(one.outs) for one in records), default=0))]
    maps += ["@inside"] * bool(conditions) + ["@watched"] * bool(watched.pid)
    begun = f" @watched[{watched.pid}] = (uint64)1;" if watched.pid else ""
    lines = [*(f"// {one}" for one in note.splitlines()), f'BEGIN {{{begun} printf("{READY}\\n"); }}']
    own = "@watched[pid]" if watched.pid else watched.test()
    for one in records:
        condition = conditions.get(one.probe.number, "")
        lines += [line for line in entry(one, watched, condition) if line]
        lines += [line for line in exit(one, own, condition) if line]
    cleared = "".join(f" clear({name});" for name in maps)
    return "\n".join([*lines, f'END {{{cleared} printf("{ENDED}\\n"); }}', ""])
