"""How gdb reaches a gdbserver: by TCP, or through the standard input and output of ssh, docker and kubectl.

A way is a list of words to put in front of a command. What ssh hands on is read by a shell again, so it is quoted once
more; gdb itself gives what stands behind ``target remote |`` to /bin/sh. (gdb manual, "Connecting to a Remote Target".)
"""

from __future__ import annotations

import re
import shlex

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError

HOST = r"[\w][\w.-]*|\[[0-9a-fA-F:.]+(%\w+)?\]|[0-9a-fA-F:]*:[0-9a-fA-F:]+"
FORMS = {
    "host": (HOST, "a host name or address"),
    "ssh": (rf"([\w.-]+@)?({HOST})", "[USER@]HOST as ssh takes it"),
    "container": (r"[a-zA-Z0-9][\w.-]*", "a container's name or id"),
    "pod": (r"([a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9.-]*", "a pod's name, or NAMESPACE/POD"),
}
DEFAULT_PORT = 1234


@dataclass(frozen=True)
class Way:
    """``container`` together with ``pod`` is one of the pod's containers. ``port`` 0: 1234 by TCP."""

    host: str = ""
    port: int = 0
    ssh: str = ""
    container: str = ""
    pod: str = ""

    def __post_init__(self) -> None:
        for name, (form, what) in FORMS.items():
            value = getattr(self, name)
            if value and not re.fullmatch(form, value, re.ASCII):
                raise UserError(f"--{name} is {what}, not {value!r}")
        if not 0 <= self.port < 65536:
            raise UserError(f"--port is a number from 1 to 65535, not {self.port}")
        if self.is_piped and (self.host or self.port):
            raise UserError("--host and --port are for TCP; with --ssh, --container and --pod gdb talks through them")

    @property
    def is_piped(self) -> bool:
        """gdb starts the server itself, and talks to it through a pipe."""
        return bool(self.ssh or self.container or self.pod)

    @property
    def listens(self) -> str:
        """gdbserver's COMM argument."""
        return "-" if self.is_piped else f":{self.port or DEFAULT_PORT}"

    @property
    def address(self) -> str:
        """HOST:PORT for gdb; an IPv6 address in brackets."""
        host = self.host or "localhost"
        return f"{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.port or DEFAULT_PORT}"

    @property
    def place(self) -> str:
        """Where the program runs, for a person."""
        inside = f"container {self.container}" if self.container else ""
        pod = f"pod {self.pod}" if self.pod else ""
        found = ", ".join(filter(None, [inside, pod, self.ssh or self.host]))
        return found or "the machine of the program"

    def line(self, words: list[str]) -> str:
        """The words as one line for a shell here, run there."""
        inside = [*self._enter(), *words]
        if self.ssh:
            inside = ["ssh", self.ssh, shlex.join(inside)]
        return shlex.join(inside)

    def _enter(self) -> list[str]:
        if self.pod:
            namespace, _, name = self.pod.rpartition("/")
            return ["kubectl", "exec", "-i", *(["-n", namespace] if namespace else []), name,
                    *(["-c", self.container] if self.container else []), "--"]  # fmt: skip
        return ["docker", "exec", "-i", self.container] if self.container else []
