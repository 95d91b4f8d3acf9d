"""Which lines of gdb's are for whoever reads the output of a run without a prompt."""

from __future__ import annotations

import re

SAID_OF_EACH_PROCESS = re.compile(
    rb"\[Thread debugging using libthread_db enabled\]|Using host libthread_db library |Reading symbols from |"
    rb"\[Switching to |process \d+ is executing new program|\[Detaching |\[Inferior \d+ \(process \d+\) |"
    rb"\[New inferior |\[Attaching after |Program terminated with signal |The program no longer exists|"
    rb"BFD: .* unknown type |warning: .* Shared library architecture unknown |"  # gdb 10 of newer libraries
    # of a process that has ended while another one stopped; its end is told next
    rb"Cannot remove breakpoints because program is no longer writable|Further execution is probably impossible|"
    rb"warning: Couldn't reap LWP |\d+\t.*No such file or directory|"
    rb"Thread [\d.]+ .* received signal |Program received signal |\s*$"
)


class GdbLines:
    def __init__(self) -> None:
        self.begun = b""

    def feed(self, data: bytes) -> bytes:
        """What of it is shown, in whole lines."""
        *lines, self.begun = (self.begun + data).split(b"\n")
        return b"".join(line + b"\n" for line in lines if not SAID_OF_EACH_PROCESS.match(line))

    def rest(self) -> bytes:
        """What has come without the end of its line."""
        left, self.begun = self.begun, b""
        return left
