"""Who plays the cases: this process, or several that it has forked, each with programs of its own."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, get_context
from typing import Any, NamedTuple

from gdbcuda.compare.findings import Difference
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.registry import Case


class Played(NamedTuple):
    """What came of a case. ``is_hung``: a program hangs in it. ``remarks`` on what was not tried."""

    found: list[Difference]
    remarks: Sequence[str] = ()
    is_hung: bool = False
    is_tried: bool = True


Play = Callable[[Bench, Case, float], Played]  # until that moment of the monotonic clock


class WorkerHere:
    """This process."""

    channel = None

    def __init__(self, bench: Bench, play: Play) -> None:
        self.bench, self.play = bench, play

    def begin(self, case: Case, until: float) -> None:
        self.played = self.play(self.bench, case, until)

    def result(self) -> Played:
        return self.played


class ForkedWorker:
    """Another process, told by the number of a case."""

    def __init__(self, bench: Bench, play: Play, cases: Sequence[Case], number: int) -> None:
        context = get_context("fork")
        self.channel, theirs = context.Pipe()
        self.numbers = {id(case): index for index, case in enumerate(cases)}
        serve = (bench, play, cases, number, theirs)
        self.process = context.Process(target=served, args=serve, daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, case: Case, until: float) -> None:
        self.channel.send((self.numbers[id(case)], until))

    def result(self) -> Played:
        played: Played | str = self.channel.recv()
        if isinstance(played, str):
            raise RuntimeError(f"in a process of --jobs: {played}")
        return played

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


Worker = Any  # WorkerHere or ForkedWorker


@contextmanager
def workers(bench: Bench, play: Play, cases: Sequence[Case], jobs: int) -> Iterator[list[Worker]]:
    """One is this process; of more none is."""
    if jobs == 1:
        yield [WorkerHere(bench, play)]
        return
    forked = [ForkedWorker(bench, play, cases, number) for number in range(jobs)]
    try:
        yield list(forked)
    finally:
        for one in forked:
            one.stop()


def finished(busy: Iterable[Worker]) -> list[Worker]:
    """Those of them that have a result; it waits for one."""
    at_work = list(busy)
    if here := [one for one in at_work if one.channel is None]:
        return here
    ready = connection.wait([one.channel for one in at_work])
    return [one for one in at_work if one.channel in ready]


def served(bench: Bench, play: Play, cases: Sequence[Case], number: int, channel: Any) -> None:
    """Until it is ended. A Ctrl-C goes to all at the terminal: the first process ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: leave(bench))
    bench.be_worker(number)
    while True:
        try:
            index, until = channel.recv()
        except (EOFError, OSError):
            leave(bench)
        try:
            channel.send(play(bench, cases[index], until))
        except Exception:  # whatever a case dies of: it would end here unseen, so the first process says it
            channel.send(traceback.format_exc())


def leave(bench: Bench) -> None:
    """Without what the first process does at its end."""
    bench.close()
    bench.files.restore()
    os._exit(0)
