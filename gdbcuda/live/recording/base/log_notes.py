"""What the lines of a call log refer to, said once in each process: objects, places in code, threads, kernels.

Every recorder notes the same, however it hears of the calls.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import gdb

from gdbcuda import api, ledger
from gdbcuda.api import vendor
from gdbcuda.calls import record
from gdbcuda.calls.kernels import HOST_FUNCTION, NAMING, mangled_names
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, GAP, HEARD, LOST, OVERWRITTEN, REDIRECTED
from gdbcuda.calls.sinks import Sink
from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame, entered
from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.frames import code_places, frames, source_lines
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.placing import link, unloading
from gdbcuda.live.pythons import python_frames
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.rings.ring_functions import recorded_symbols
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.snapshot import VENDORS
from gdbcuda.text.sentences import some

# tells what runs in a process from what an exec puts in its place; another recorder finds it as it was
IMAGE: PerInferior[int] = PerInferior(itertools.count(1).__next__)
MOST_INLINED = 50  # frames of one function
NAME_KERNELS = (*NAMING, "launch")  # roles of functions that take the host function that stands for a kernel


class LogNotes:
    """``number``: of the next call; ``missed``: calls that could not be read."""

    def __init__(self, wish: RecordWish, sinks: list[Sink]) -> None:
        self.wish, self.sinks = wish, sinks
        self.epoch = time.perf_counter()
        self.number = self.missed = 0
        self.running = images_at_work()
        self.noted: PerInferior[set[tuple[str, Any]]] = PerInferior(set)
        self.scripts: PerInferior[dict[PythonFrame, int]] = PerInferior(dict)
        self.why_ended = record.PROCESS_GONE
        self.planted: PerInferior[dict[tuple[str, int], int]] = PerInferior(dict)  # objects, with an address in each

    def now(self) -> float:
        return time.perf_counter() - self.epoch

    def note(self, kind: str, key: Any, details: dict[str, Any]) -> None:
        """Once in each process for each thing that other lines refer to."""
        if (kind, key) not in self.noted():
            self.noted().add((kind, key))
            inferior = gdb.selected_inferior()
            for sink in self.sinks:
                sink.note(self.now(), kind, {**details, "inferior": inferior.num, "pid": inferior.pid})

    def place(self, place: frames.CodePlace, outer: Sequence[gdb.Frame] = ()) -> int:
        """``outer``: the frames of the functions that the compiler has put this code into."""
        if ("place", place.address) not in self.noted():
            text = source_lines.text_of(place)
            into = code_places.inlined_into(outer)
            if not outer and frames.is_in_headers(place):
                into = code_places.known_of(place.address - 1)
            known = code_places.details(place) | into
            self.note("place", place.address, known | ({"text": text} if text else {}))
        return place.address

    def script_site(self, frames_of_python: Sequence[PythonFrame]) -> int:
        """The place of the user's own line; 0 where no Python calls."""
        own = own_code.site(frames_of_python)
        return self.script(own) if own is not None else 0

    def script(self, frame: PythonFrame) -> int:
        """A place that is no address: a number of its own, where no address can be."""
        key = frame._replace(entry=0)
        number = self.scripts().setdefault(key, own_code.NO_ADDRESS + len(self.scripts()))
        self.note("place", number, own_code.as_place(frame, number))
        return number

    def backtrace(self, scripts: Sequence[PythonFrame]) -> list[int]:
        """The frames of what is inlined have the address of the function that it was put into. Those of Python stand
        for the native frame that runs them; all of them are told."""
        found: list[int] = []
        runs = entered(scripts)
        same: list[gdb.Frame] = []  # of one address, outwards
        for number, frame in enumerate(frames.innermost(self.wish.stack + MOST_INLINED)):
            if number > self.wish.stack and not same:
                break
            if number:
                same.append(frame)
            if runs and python_frames.evaluates(frame, runs[0]):
                found += map(self.script, runs.pop(0))
                same = []
            if same and frame.type() != gdb.INLINE_FRAME:
                found.append(self.place(code_places.caller(same[0].pc()), same[1:]))
                same = []
        return [*found, *(self.script(one) for run in runs for one in run)]

    def note_kernel(self, function: api.Function, call: Call, raws: list[bytes | None]) -> None:
        """What names a kernel: the host function that stands for it, or the name in the program's code for the GPU."""
        for parameter, raw in zip(function.parameters, raws):
            if parameter.name in HOST_FUNCTION and not parameter.handle and raw is not None:
                self.place(code_places.code(int.from_bytes(raw, "little")))
        for name in mangled_names(call.arguments):
            if ("kernel", name) not in self.noted():
                self.note("kernel", name, {"name": name, "demangled": process.demangled(name)})

    def note_object(self, linkage: Linkage) -> None:
        file = this_snapshot.file_of(linkage)
        self.note("object", file, {"file": file, "layer": this_snapshot.layer_of(linkage), "base": linkage.image.base,
                                   "build_id": linkage.image.build_id})  # fmt: skip

    def note_thread(self, number: int, lwp: int, name: str | None) -> None:
        self.note("thread", number, {"thread": number, "lwp": lwp, "name": name})

    def note_process(self) -> None:
        self.note("process", "", {"program": process.strip_prefix(process.program()), "image": IMAGE()})
        self.note_unseen()
        self.note_unheard()
        self.note_recorded()

    @cached_property
    def leaves_out(self) -> bool:
        """Are there functions, or calls, that are not recorded? Asked at each load."""
        return self.wish.is_some or not recorded_symbols(api.load_all()) <= self.wish.functions

    def note_recorded(self) -> None:
        """Of what is not, nobody can say later that it was never called."""
        if self.leaves_out:
            names = sorted(self.wish.functions)
            self.note("recorded", "", {"names": names, "some": self.wish.is_some})

    def note_unseen(self) -> None:
        """What the ledger must not conclude anything from."""
        left_out = ledger.left_out(self.wish.functions, table_version.table(), self.wish.is_some)
        for name in left_out | self.only_elsewhere():
            self.note("unseen", name, {"name": name, "seen_by": "cuda-log start --memory alone"})
        inferior = gdb.selected_inferior()
        if self.running.get(inferior.num) == IMAGE() or inferior.was_attached:
            self.note("unseen", BEFORE, {"name": BEFORE})

    def note_unheard(self) -> None:
        """What a hook library passes on without a line in the log."""
        others = [one for one in self.wish.places if one in VENDORS or vendor.layer_of(one)]
        if self.wish.callers:
            self.note("unheard", "", {"name": "", "why": f"calls from {some([*self.wish.callers])} alone are recorded"})
        elif self.wish.places and not others:
            self.note("unheard", "", {"name": "", "why": f"calls in {some([*self.wish.places])} alone are recorded"})

    def note_answer(self, answer: Answering) -> None:
        """How calls come to code that nobody can call by name. By an entry: the function's own goes on behind it."""
        if answer.entry or answer.asker:
            known = {"name": answer.function, "asker": answer.asker}
            self.note(REDIRECTED, (answer.function, answer.asker), known)
        if answer.entry:
            name = api.base_name(answer.function)
            why = "an entry that the hook has overwritten is passed by behind its jump"
            self.note("unheard", name, {"name": name, "why": why})

    def note_heard(self, symbol: str) -> None:
        """Whoever copies more of the function than it overwrites goes past where we look. This one has been seen."""
        name = api.base_name(symbol)
        self.note(HEARD, name, {"name": name})

    def note_lost(self, lost: Mapping[str, int]) -> None:
        """So many calls of the selected process in all, by reason. One of them may have taken back any block."""
        for why, calls in lost.items():
            self.note(LOST, (why, calls), {"name": why, "calls": calls})
        seen_by = {"seen_by": "gdbcuda trace --all"} if lost.keys() == {OVERWRITTEN} else {}
        if lost:
            self.note(GAP, sum(lost.values()), {"until": self.now(), **seen_by})

    def note_missed(self, symbols: Iterable[str]) -> None:
        """Calls of these may be missing up to now. What they did to memory, the log cannot tell."""
        if not self.families().isdisjoint(map(api.base_name, symbols)):
            self.note(GAP, self.now(), {"until": self.now()})

    def families(self) -> frozenset[str]:
        """Base names of what hands out memory, and of what takes it back."""
        return ledger.left_out(self.wish.functions, table_version.table(), is_some=True)

    def only_elsewhere(self) -> set[str]:
        """Of the families of functions that the ledger follows."""
        if not self.wish.places:
            return set()
        families = self.families()
        wanted = {symbol for symbol in self.wish.functions if api.base_name(symbol) in families}
        return planting.only_elsewhere(frozenset(wanted), self.wish.places)

    # -- places

    def plant(self) -> None:
        """In every object of the selected process that is new."""
        if not process.is_alive():
            return
        try:
            objects = [*this_snapshot.objects().all, *this_snapshot.objects_elsewhere()]
        except UserError:  # the loader has not begun
            return
        self.note_process()
        planted = self.planted()
        with link.planting():
            for linkage in objects:
                key = (linkage.image.name, linkage.image.base)
                if key not in planted and self.is_ready(linkage):
                    planted[key] = linkage.image.dynamic
                    self.note_object(linkage)
                    self.plant_in(linkage)

    def is_ready(self, linkage: Linkage) -> bool:
        """Else it is looked at again when gdb has read another object."""
        return True

    def plant_in(self, linkage: Linkage) -> None:
        raise NotImplementedError

    def forget_places(self) -> None:
        """Objects have come or gone: an address may be another's now."""
        for noted in self.noted.all():
            noted -= {key for key in noted if key[0] == "place"}

    def forget_unloaded(self, addresses: set[int]) -> None:
        """Breakpoints were at these addresses. An object that comes again is planted in anew."""
        planted = self.planted()
        there = unloading.still_there(planted)
        planted.clear()
        planted.update(there)

    def close(self) -> None:
        self.noted.close()
        self.planted.close()


def objects_with(address: int) -> list[Linkage]:
    objects = (*this_snapshot.objects().all, *this_snapshot.objects_elsewhere())
    return [one for one in objects if one.image.holds(address)]


def images_at_work() -> dict[int, int]:
    """By the number of the inferior: what runs already when the recording begins."""
    found = {}
    for inferior in gdb.inferiors():
        with inferiors.selected(inferior):
            if process.is_alive():
                found[inferior.num] = IMAGE()
    return found
