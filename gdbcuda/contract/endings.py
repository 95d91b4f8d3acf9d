"""How a program ends, as a person would say it."""

from __future__ import annotations

import os
import signal


class Ended(Exception):
    """The program, or a copy of it, is no more; the text says how, as a person would."""

    example = ""
    address = 0  # of the memory that a crash was about

    def when(self, words: str) -> Ended:
        """The same, with what was done then in front."""
        self.args = (f"{words}: {self}",)
        return self


class Hung(Ended):
    """Its time was over."""

    def __init__(self, seconds: float) -> None:
        super().__init__("it does not end")
        self.example = f"after {seconds:g} s"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def crashed(text: str) -> Ended:
    """Of what the program says of its end (shim/contract/ends.c)."""
    how, words = Ended(crash(text)), text.split()
    if words[0] == "crash" and len(words) > 3:
        how.address = int(words[3], 16)
    return how


def crash(text: str) -> str:
    kind, number, *rest = text.split(None, 6)
    if kind == "exit":
        return f"it ends with the status {int(number, 16)}"
    if kind == "signal" or len(rest) < 5:
        return f"it ends with {signal_name(int(number, 16))}"
    why, at, offset, symbol, path = rest
    name = os.path.basename(path)
    where = f"in {symbol} of {name}" if symbol != "-" else f"at {name}+{int(offset, 16):#x}"
    if path == "-":
        where = f"by a jump to {int(at, 16):#x}"
    if why == "stack":
        return f"it calls itself until the stack is full, {where}"
    if why == "unaligned":
        where = where if symbol != "-" else f"in {name}"
        return f"it ends with {signal_name(int(number, 16))} {where}, which was called with a stack that is not aligned"
    return f"it ends with {signal_name(int(number, 16))} {where}"
