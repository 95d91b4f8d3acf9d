"""`python -m gdbcuda` for tests: run by a fork of a process that has imported it (tests/gdbcuda_forks.py).

Half of the time of such a command, or more, goes into a Python's start and its imports, which hundreds of tests would
pay. What Python reads of the environment when it starts makes one of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from shim_support import ROOT

SERVE = str(Path(__file__).with_name("gdbcuda_forks.py"))
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "GLIBC_", "MALLOC_")
OUR_PATH = {"PYTHONPATH": str(ROOT)}
PIPE_HOLDS = 1 << 16
Done = subprocess.CompletedProcess[str]
Limits = Mapping[int, int]


def run_gdbcuda(*words: object, env: Mapping[str, str] | None = None, cwd: str | Path = ROOT, input: str = "",
            timeout: float = 120, limits: Limits | None = None, check: bool = False) -> Done:  # fmt: skip
    """As subprocess.run: what it prints is captured; ``limits`` of resources for it and all that it starts."""
    environment = {**os.environ, **OUR_PATH} if env is None else dict(env)
    line, limits = [sys.executable, "-m", "gdbcuda", *map(str, words)], limits or {}
    is_alike = at_start(environment) == at_start({**os.environ, **OUR_PATH}) and len(input.encode()) < PIPE_HOLDS
    if is_alike and ONE_AT_A_TIME.acquire(blocking=False):  # a test may run several beside each other
        try:
            done = FORKING.run(line, environment, str(cwd), input, timeout, limits)
        finally:
            ONE_AT_A_TIME.release()
    else:
        done = subprocess.run(line, env=environment, cwd=cwd, input=input, timeout=timeout, capture_output=True,
                              text=True, preexec_fn=lambda: limit(limits))  # fmt: skip
    if check:
        done.check_returncode()
    return done


def at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items()
            if name.startswith(READ_AT_START) and OUR_PATH.get(name) != value}  # fmt: skip


def limit(limits: Limits) -> None:
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))


class ForkingGdbcuda:
    """Started when it is first asked, and anew after a command that did not end."""

    def __init__(self) -> None:
        self.end: socket.socket | None = None
        atexit.register(self.stop)

    def start(self) -> socket.socket:
        self.end, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line = [sys.executable, SERVE, str(its.fileno())]
        with its:
            self.running = subprocess.Popen(line, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
                                            env={**os.environ, **OUR_PATH})  # fmt: skip
        return self.end

    def run(
        self, line: list[str], environment: Mapping[str, str], folder: str, typed: str, timeout: float, limits: Limits
    ) -> Done:
        wanted = {"words": line[3:], "environment": environment, "folder": folder, "limits": [*limits.items()]}
        end = self.end or self.start()
        (given, write), (output, its_output), (errors, its_errors) = (os.pipe() for _ in range(3))
        os.write(write, typed.encode())
        socket.send_fds(end, [json.dumps(wanted).encode()], [given, its_output, its_errors])
        for one in (given, write, its_output, its_errors):
            os.close(one)
        child = int(end.recv(64))
        try:
            texts = read((output, errors), time.monotonic() + timeout)
            end.settimeout(timeout)
            status = int(end.recv(64))
        except BaseException:  # a time limit or Ctrl-C as well: nobody else ends it
            os.kill(child, signal.SIGKILL)
            self.stop()
            raise
        finally:
            os.close(output)
            os.close(errors)
        return Done(line, status, *(text.decode().replace("\r\n", "\n") for text in texts))

    def stop(self) -> None:
        if self.end is not None:
            self.end.close()
            self.running.wait()
            self.end = None


def read(pipes: tuple[int, ...], last: float) -> list[bytes]:
    """Until nobody has their other ends any more."""
    texts = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0, last - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired("gdbcuda", 0, b"".join(texts.values()))
            for key, _ in ready:
                data = os.read(key.fd, PIPE_HOLDS)
                texts[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return list(texts.values())


FORKING = ForkingGdbcuda()
ONE_AT_A_TIME = threading.Lock()
