"""A program that makes API calls as it is told (shim/contract), with a hook library in it.

Each case runs in a copy of it (fork), so that a crash or a hang ends that case alone.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from gdbcuda.contract import patience
from gdbcuda.contract.c_programs.showing_program import PRELOAD
from gdbcuda.contract.calling.told_calls import Called, call_command, called
from gdbcuda.contract.endings import Ended, Hung, crashed, signal_name
from gdbcuda.data_classes import dataclass, field

SEEN, ANSWER = "GDBCUDA_STANDIN_SEEN", "GDBCUDA_STANDIN_ANSWER"
DEVICES_OF_STANDIN, DEVICES = "GDBCUDA_STANDIN_DEVICES", 2  # so many in the programs of the cases
SEEN_IN_CASES = "GDBCUDA_CONTRACT_SEEN"  # where the program of a case has it
LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
LONGEST, USUALLY = 1 << 22, 1 << 14  # bytes of what a call has left behind
ENDINGS = ("crash ", "signal ", "exit ")  # of a copy, in the place of an answer


class LoadedPlace(NamedTuple):
    """Where an address is. ``symbol`` is "" where no exported function begins there."""

    address: int
    offset: int = 0
    symbol: str = ""
    path: str = ""

    def is_other_than(self, other: LoadedPlace) -> bool:
        """Of two processes, where the same library may be at other addresses."""
        return (bool(self.address), self.offset, self.path) != (bool(other.address), other.offset, other.path)

    def text(self) -> str:
        if not self.address:
            return "nothing"
        return f"{self.symbol or hex(self.offset)} of {os.path.basename(self.path)}" if self.path else "no function"


@dataclass(frozen=True)
class Start:
    """How a program begins. ``variable`` names the ``hook`` to who loads it, None for none; ``is_linked``: against the
    driver, else it loads the driver by itself; ``is_ready``: it has a context, and NVML; ``settings`` of its
    environment."""

    hook: str | None
    is_linked: bool = True
    is_ready: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    variable: str = PRELOAD


@dataclass
class Program:
    """``folder`` is where it may write; ``build`` what `make -C shim contract` has made. Commands and their answers are
    lines (shim/contract/contract.h)."""

    start: Start
    build: str
    folder: str
    libraries: str  # as LD_LIBRARY_PATH
    patience: float = patience.USUAL  # seconds for the answer to one command
    arena: int = 0
    versions: str = ""
    kept: dict[object, int] = field(default_factory=dict)  # addresses, the same in each copy
    of_thread: list[str] = field(default_factory=list)  # commands that give the context to another thread
    contexts: list[bytes] = field(default_factory=list)  # of the thread that calls
    answers: dict[object, list[Any]] = field(default_factory=dict)  # of the driver (calling/remembered.py)
    copy: int = 0  # the process number of the copy that is told
    _lines: deque[bytes] = field(default_factory=deque)  # that have come
    _rest: bytes = b""  # of a line that has not come whole
    _seen_until: int = 0

    def __post_init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.channel = ours
        name = "linked" if self.start.is_linked else "loading"
        self.seen_path = os.path.join(self.folder, "seen")
        self.said_path = os.path.join(self.folder, "said")
        open(self.seen_path, "wb").close()
        self._seen = open(self.seen_path, "rb", buffering=0)  # noqa: SIM115  (closed in stop)
        with theirs, open(self.said_path, "wb") as said:
            self.process = subprocess.Popen(
                [os.path.join(self.build, "contract", name), str(theirs.fileno())], pass_fds=[theirs.fileno()],
                env=self.environment(os.environ), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        _, *versions, arena = self.answer().split()
        self.versions, self.arena = " ".join(versions), int(arena, 16)

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in own.items() if not name.startswith(("LD_", "GDBCUDA_", "CUDA_"))}
        seen = {SEEN: os.devnull, SEEN_IN_CASES: self.seen_path, DEVICES_OF_STANDIN: str(DEVICES)}
        found = {**kept, **dict(self.start.settings), **seen, "LD_LIBRARY_PATH": self.libraries}
        if self.start.hook:
            found[self.start.variable] = self.start.hook
        return found

    # -- commands ------------------------------------------------------------------------------------------

    def tell(self, *commands: str) -> list[str]:
        """The answer to each of them, in one go. `Ended` where there is none in time."""
        with suppress(OSError):  # it has ended: the answer says how
            self.channel.sendall("".join(f"{one}\n" for one in commands).encode())
        return [self.answer() for _ in commands]

    def answer(self) -> str:
        if not self._lines:
            self.wait_for_line()
        text = self._lines.popleft().decode(errors="replace")
        if not text.startswith(ENDINGS):
            return text
        if text.startswith("crash "):
            with suppress(Ended):  # then the first process says that the copy has ended
                self.answer()
        raise crashed(text)

    def wait_for_line(self) -> None:
        deadline = time.monotonic() + self.patience
        while not self._lines:
            ready, _, _ = select.select([self.channel], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.stop()
                raise Hung(self.patience)
            with suppress(ConnectionError):
                more = self.channel.recv(1 << 16)
                *lines, self._rest = (self._rest + more).split(b"\n")
                self._lines.extend(lines)
                if more:
                    continue
            raise Ended(self.how_it_ended())

    def how_it_ended(self) -> str:
        status = self.process.wait()
        how = signal_name(-status) if status < 0 else f"the status {status}"
        return f"it ends with {how}{self.last_said()}"

    def stop(self) -> None:
        """Whatever is left of it."""
        for number in filter(None, [self.copy, self.process.pid]):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()
        self.channel.close()
        self._seen.close()

    def renew(self) -> None:
        """Its arena; what calls were given so far cannot be used any more."""
        self.arena = int(self.tell("renew")[0], 16)

    def set(self, name: str, value: str) -> str:
        """The command for a variable of its environment."""
        return f"set {name} {value}".replace("\n", "\t")

    def find(self, *commands: str) -> list[LoadedPlace]:
        """Of commands that are answered with a place."""
        return [place(one) for one in self.tell(*commands)]

    def prepare(self) -> None:
        """A context of device 0, and NVML. What is NULL is not called."""
        self.call_by_name("cuInit", bytes(4))
        if self.call_by_name("cuDevicePrimaryCtxRetain", self.arena.to_bytes(8, "little"), bytes(4)):
            context = self.tell("peek 0 8")[0].strip()
            self.contexts = [bytes.fromhex(context)]
            self.call_by_name("cuCtxSetCurrent", *self.contexts)
            self.of_thread = [f"call cuCtxSetCurrent {self.by_name('cuCtxSetCurrent'):x} 0 {context}"]
        self.call_by_name("nvmlInit_v2")

    def by_name(self, symbol: str) -> int:
        """Its address in the first way that leads to one, else 0."""
        ways = [f"linked {symbol}", *(f"dlsym {library} {symbol}" for library in LIBRARIES)]
        return next((one.address for one in self.find(*ways) if one.address), 0)

    def address_of(self, elsewhere: LoadedPlace) -> int:
        """Of what another process has there; 0 where this one has not loaded that library. (proc(5): /proc/PID/maps)"""
        wanted = os.path.realpath(elsewhere.path) if elsewhere.path else None
        with open(f"/proc/{self.copy or self.process.pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            words = [line.split(None, 5) for line in file]
        begin = next((one[0].split("-")[0] for one in words if len(one) > 5 and one[5].rstrip("\n") == wanted), None)
        return int(begin, 16) + elsewhere.offset if begin else 0

    def call_by_name(self, symbol: str, *arguments: bytes) -> Called | None:
        found = self.by_name(symbol)
        return self.call(symbol, found, arguments) if found else None

    def call(
        self, symbol: str, address: int, arguments: Sequence[bytes], *, errno: int = 0, before: Sequence[str] = (),
        is_aside: bool = False,
    ) -> Called:  # fmt: skip
        """``before``: commands that are told with it; ``is_aside``: by another thread."""
        commands = [*before, call_command(symbol, address, arguments, errno)]
        if is_aside:
            commands = [f"aside {len(self.of_thread) + len(commands):x}", *self.of_thread, *commands]
        return called(self.tell(*commands)[-1])

    def seen(self) -> list[list[str]]:
        """The calls that have reached the stand-in since this was asked: the words of each."""
        text = os.pread(self._seen.fileno(), USUALLY, self._seen_until)
        if len(text) == USUALLY:
            text = os.pread(self._seen.fileno(), LONGEST, self._seen_until)
        whole = text[: text.rfind(b"\n") + 1]
        self._seen_until += len(whole)
        return [line.split() for line in whole.decode().splitlines()]

    def last_said(self) -> str:
        """The last line that it has written, behind a colon."""
        with open(self.said_path, encoding="utf-8", errors="backslashreplace") as file:
            lines = file.read(1 << 16).splitlines()
        return f": {lines[-1]}" if lines else ""

    @contextmanager
    def forked(self) -> Iterator[Program]:
        """A copy is told what comes now. `Ended` where it does not end by itself."""
        self.seen()
        self.copy = int(self.tell("fork")[0], 16)
        try:
            yield self
            self.channel.sendall(b"end\n")
            self.wait_for_copy()
        except Ended:
            self.stop()  # the first process would obey what the copy has not read any more
            raise
        finally:
            self.copy = 0

    def leave(self) -> None:
        """As a program does that returns from main. `Ended` where that does not go well."""
        try:
            self.tell("end")
        except Ended as how:
            if not str(how).startswith(EXITED):
                raise

    def wait_for_copy(self) -> None:
        try:
            self.answer()
        except Ended as how:
            if str(how) != EXITED:
                raise


EXITED = "it ends with the status 0"


def place(text: str) -> LoadedPlace:
    address, *rest = text.split(None, 3)
    if len(rest) < 3:
        return LoadedPlace(int(address, 16))
    offset, symbol, path = rest
    return LoadedPlace(int(address, 16), int(offset, 16), "" if symbol == "-" else symbol, path)
