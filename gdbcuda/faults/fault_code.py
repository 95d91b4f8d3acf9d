"""What a trampoline does to calls that faults mean, in the process: nobody stops.

    delay    nanosleep;  the call goes on
    fail     mov $status, %eax;  ret
    replace  `replacing_code`

Faults come in front of the tests of breakpoints: a call that is failed comes to none of them. Registers and stack are
what they were at the entry, and behind the return what the function left. (x86-64; nanosleep(2).)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gdbcuda.data_classes import dataclass, replace
from gdbcuda.faults.effects import Delay, Effect, Fail, Fault, Replace, admit, result
from gdbcuda.faults.replacing_code import Replacing
from gdbcuda.machine import trampoline
from gdbcuda.machine.call_through import WORD
from gdbcuda.machine.trampoline import Test
from gdbcuda.machine.x86.x86_write import R11, RAX, RCX, RDI, RSI, RSP, Code

NANOSLEEP, EINTR = 35, 4
CLOBBERED = (RAX, RCX, RDI, RSI, R11)  # by the call, or for its arguments
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Faults:
    """Of one function; ``stack``: words of arguments there."""

    faults: Sequence[Fault]
    stack: int

    @property
    def is_returned_to(self) -> bool:
        return bool(self.of(Replace))

    @property
    def tests(self) -> list[Test]:
        return [one.test for one in self.faults]

    def write_meant(self, code: Code) -> None:
        """Of the only one, for a call that it means."""
        (one,) = self.faults
        Faults([replace(one, test=always)], self.stack).write(code, [])

    def write(self, code: Code, stops: Sequence[trampoline.Diverted]) -> None:
        """Goes on behind for a call that is as it was. ``stops``: where one goes that breakpoints are meant for, and
        which; else it goes to the label onward."""
        for fault in self.of(Delay):
            following = begun(code, fault)
            sleep(code, fault.effect.nanoseconds)  # type: ignore[union-attr]
            code.label(following)
        for fault in self.of(Fail):
            following = begun(code, fault)
            result(code, fault.effect.status)  # type: ignore[union-attr, arg-type]
            code.emit(b"\xc3")
            code.label(following)
        if replacing := self.of(Replace):
            Replacing(code, replacing, self.stack).write(stops)

    def of(self, kind: type[Effect]) -> list[Fault]:
        return [one for one in self.faults if isinstance(one.effect, kind)]


def always(code: Code, true: str, false: str, pushed: int) -> None:
    code.jump("", true)


def begun(code: Code, fault: Fault) -> str:
    """Tests and counts; returns the label, yet to be placed, of the calls that are not meant."""
    meant, following = code.new_label(), code.new_label()
    fault.test(code, meant, following, 0)
    code.label(meant)
    admit(code, fault, following)
    return following


def sleep(code: Code, nanoseconds: int) -> None:
    """All of it, whatever signals come: what is left is written where the time was read."""
    again = code.new_label()
    for register in CLOBBERED:
        code.push(register)
    for number in reversed(divmod(nanoseconds, SECOND)):
        code.constant(RAX, number)
        code.push(RAX)
    code.label(again)
    code.instruction(b"\x8b", RDI, RSP)
    code.instruction(b"\x8b", RSI, RSP)
    code.constant(RAX, NANOSLEEP)
    code.emit(b"\x0f\x05")  # syscall
    code.instruction(b"\x83", 7, RAX, immediate=struct.pack("<b", -EINTR))  # cmp
    code.jump("e", again)
    code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", 2 * WORD))  # add
    for register in reversed(CLOBBERED):
        code.pop(register)
