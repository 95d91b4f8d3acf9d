"""A slow link to a gdbserver: a TCP proxy that holds everything back for a while and writes down gdb's packets.

gdb marks a place in the list by a packet that no server knows: ``maintenance packet qMark:NAME``. What lies between
two marks is what an operation cost; it is counted, not timed. (gdb manual: "Remote Protocol", "Overview".)
"""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import time
from pathlib import Path

from scenario import GDBSERVER

PACKET = re.compile(rb"\$([^#]*)#[0-9a-f]{2}")
MARK, OF_DEVICES = "qMark:", "qnv."


def mark(name: str) -> str:
    """The gdb command; with the packet and the answer of the server it would print, it is silent here."""
    return f"python gdb.execute('maintenance packet {MARK}{name}', to_string=True)"


class Link:
    """Between gdb, which connects once, and a gdbserver at the port ``server``. ``round_trip`` in seconds.

    ``address`` is for gdb: a TCP port, or the unix socket that is asked for (gdbserver itself listens on none)."""

    def __init__(self, server: int, round_trip: float = 0.02, socket_file: Path | None = None) -> None:
        self.round_trip, self.packets = round_trip, []  # type: float, list[str]
        self._server, self._rest = server, b""
        if socket_file:
            self._listening = socket.socket(socket.AF_UNIX)
            self._listening.bind(str(socket_file))
            self._listening.listen()
            self.address = str(socket_file)
        else:
            self._listening = socket.create_server(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        near, _ = self._listening.accept()
        far = socket.create_connection(("127.0.0.1", self._server))
        for one in (near, far):
            if one.family == socket.AF_INET:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()
        self._pump(near, far, True)

    def _pump(self, source: socket.socket, sink: socket.socket, is_gdb: bool) -> None:
        try:
            while data := source.recv(65536):
                if is_gdb:
                    self._note(data)
                time.sleep(self.round_trip / 2)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, sink):
                one.close()

    def _note(self, data: bytes) -> None:
        self._rest += data
        found = list(PACKET.finditer(self._rest))
        self.packets += [one.group(1).decode("latin-1") for one in found]
        self._rest = self._rest[found[-1].end() :] if found else self._rest

    def between(self, first: str, last: str) -> list[str]:
        """gdb's packets from one mark to the other, without the marks and without what cuda-gdb asks about devices."""
        start, end = self.packets.index(MARK + first), self.packets.index(MARK + last)
        return [packet for packet in self.packets[start + 1 : end] if not packet.startswith((MARK, OF_DEVICES))]

    def end(self) -> None:
        self._listening.close()


class Server:
    """A gdbserver on a port of its own choice, which starts the program with the library preloaded."""

    def __init__(self, words: list[str], environment: dict[str, str], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(words, env=environment, cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.port, said = 0, []
        while not self.port:
            assert self.process.stderr is not None
            line = self.process.stderr.readline()
            said.append(line)
            assert line, f"{words} ended: {''.join(said)}"
            found = re.match(r"Listening on port (\d+)", line)
            self.port = int(found.group(1)) if found else 0
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def end(self) -> None:
        self.process.kill()
        self.process.wait(30)


def preloading(hook: Path | str | None, *program: str | Path, address: str = "127.0.0.1:0") -> list[str]:
    wrapper = ["--wrapper", "env", f"LD_PRELOAD={hook}", "--"] if hook else []
    return [GDBSERVER, "--once", *wrapper, address, *map(str, program)]
