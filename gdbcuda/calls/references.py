"""What the lines of a log refer to by a number or name: code addresses, threads, processes, objects, kernels.

An address means something in one process only, so places are known by process and address. A process is told by the
debugger's number of the inferior and by its pid: two machines may use the same pid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gdbcuda.calls.header_code import asker, is_place_in_headers, words_of

Process = tuple[int, int]  # inferior, pid
Details = Mapping[str, Any]
NOTHING: Details = {}
BEFORE = "before"  # as what was not seen: the calls before the recording began
LOST = "lost"  # how many events a recorder has not told: {"events": 12}; calls, so far: {"calls": 12, "name": CLOCK}
MISSING = "missing"  # what was said when the log was read that this one was made of: {"what": TEXT, "count": 12}
GAP = "gap"  # calls were lost, the last one before that time: {"until": 1.5}
HEARD = "heard"  # what was unheard is seen
REDIRECTED = "redirected"  # to a hook's code, by the function's entry, or by a slot of the file "asker"
OVERWRITTEN, CLOCK, CONFINED, NO_RING = "overwritten", "clock", "confined", "ring"
WHY_LOST = {
    OVERWRITTEN: "overwritten before the program stopped",
    CLOCK: "made where the program may read no clock (strict seccomp)",
    CONFINED: "made by a thread that could not note it, for the program had confined itself",
    NO_RING: "made by a thread that had no ring, or not yet",
}
NONE = type(None)
WORDS = ("function", "object", "layer", "source", "text", "name", "file", "demangled", "program", "build_id",
         "seen_by", "rank", "asker")
LONGEST = 1e11  # seconds
NUMBERS = ("address", "offset", "thread", "inferior", "pid", "lwp")


def process_of(details: Details) -> Process:
    return details.get("inferior", 0), details.get("pid", 0)


def require_words(details: Details) -> None:
    """TypeError where a name is none, or a number; a log may be anything."""
    if not all(map(is_sound, [details, *details.get("inlined_into", ())])):
        raise TypeError(details)


def require_names(details: Details) -> None:
    if not isinstance(details["names"], list) or not all(isinstance(name, str) for name in details["names"]):
        raise TypeError(details)


def require_gpu(details: Details) -> None:
    apart = details["uncertainty"]  # nanoseconds
    if type(apart) not in (int, float, NONE) or not isinstance(details["devices"], dict):
        raise TypeError(details)
    if apart is not None and not abs(apart) < LONGEST * 1e9:
        raise TypeError(details)


def require_seconds(number: Any) -> None:
    if type(number) not in (int, float) or not 0 <= number < LONGEST:
        raise TypeError(number)


def is_sound(details: Any) -> bool:
    return (
        isinstance(details, dict)
        and all(isinstance(details.get(name), (str, NONE)) for name in WORDS)
        and all(isinstance(details.get(name, 0), int) for name in NUMBERS)
    )


class References:
    """Grows while M lines are read or written; the last line about a thing holds."""

    def __init__(self) -> None:
        self.places: dict[tuple[Process, int], Details] = {}
        self.threads: dict[int, Details] = {}  # by gdb's number, which is unique among all processes
        self.processes: dict[Process, Details] = {}
        self.programs: Counter[Process] = Counter()  # how many programs a process has run: exec begins another
        self.started = 0  # all of them together
        self.objects: dict[tuple[Process, str], Details] = {}  # by process and file name
        self.gpus: dict[Process, Details] = {}  # which there are, and how far the times of their work may be wrong
        self.clocks_apart = 0.0  # seconds, at least: those of the logs that this one was joined from
        self.functions: dict[tuple[Process, int], Details] = {}  # that were handed out: their "names" and "object"
        self.kernels: dict[str, str] = {}  # readable name by mangled name
        self.unseen: dict[Process, set[str]] = {}  # base names whose calls the recorder left out, and BEFORE
        self.recorded: dict[Process, frozenset[str]] = {}  # where not all are: the functions whose calls are all there
        self.unheard: dict[Process, dict[str, str]] = {}  # base names of what a hook calls unseen ("": all)
        self.redirected: dict[Process, set[tuple[str, str]]] = {}  # functions, and whose slot; "": by their entry
        self.seen_by: dict[Process, str] = {}  # what is typed to record those too
        self.gap_until: dict[Process, float] = {}  # before that calls are missing in between

    def add(self, kind: str, details: Details) -> None:
        """KeyError or TypeError for a line with something missing; kinds that we do not know are left out."""
        require_words(details)
        if kind in ADDED:
            ADDED[kind](self, process_of(details), details)

    def add_place(self, process: Process, details: Details) -> None:
        self.places[process, details["address"]] = details

    def add_thread(self, process: Process, details: Details) -> None:
        self.threads[details["thread"]] = details

    def add_object(self, process: Process, details: Details) -> None:
        self.objects[process, details["file"]] = details

    def add_gpu(self, process: Process, details: Details) -> None:
        require_gpu(details)
        self.gpus[process] = details

    def add_clocks(self, process: Process, details: Details) -> None:
        require_seconds(details["apart"])
        self.clocks_apart = details["apart"]

    def add_function(self, process: Process, details: Details) -> None:
        require_names(details)
        self.functions[process, details["address"]] = details

    def add_kernel(self, process: Process, details: Details) -> None:
        self.kernels[details["name"]] = details["demangled"]

    def add_unseen(self, process: Process, details: Details) -> None:
        self.unseen.setdefault(process, set()).add(details["name"])
        self.seen_by[process] = details.get("seen_by") or ""

    def add_unheard(self, process: Process, details: Details) -> None:
        self.unheard.setdefault(process, {})[details["name"]] = details["why"]

    def add_heard(self, process: Process, details: Details) -> None:
        self.unheard.get(process, {}).pop(details["name"], None)

    def add_redirected(self, process: Process, details: Details) -> None:
        self.redirected.setdefault(process, set()).add((details["name"], details.get("asker") or ""))

    def add_recorded(self, process: Process, details: Details) -> None:
        require_names(details)
        self.recorded[process] = frozenset() if details.get("some") else frozenset(details["names"])

    def add_gap(self, process: Process, details: Details) -> None:
        require_seconds(details["until"])
        self.gap_until[process] = max(details["until"], self.gap_until.get(process, 0.0))
        self.seen_by[process] = details.get("seen_by") or self.seen_by.get(process, "")

    def add_process(self, process: Process, details: Details) -> None:
        """One that is known already, with its image, is said again."""
        is_known = "image" in details and self.processes.get(process) == details
        self.processes[process] = details
        if not is_known:
            for of_program in (self.unseen, self.unheard, self.gap_until):
                of_program.pop(process, None)
        self.programs[process] += not is_known
        self.started += not is_known

    def apart(self) -> float | None:
        """Seconds that the times of a GPU and those of calls may be apart; None where nobody has told."""
        known = (one["uncertainty"] for one in self.gpus.values())
        return max((float(one) / 1e9 for one in known if one is not None), default=None)

    def frames(self, process: Process, address: int) -> Iterator[Details]:
        """The place, and those that the compiler has put its code into."""
        place = self.place(process, address)
        yield place
        yield from ({**place, "text": None, **outer} for outer in place.get("inlined_into", ()))

    def all_frames(self) -> list[Details]:
        """Of every place that the log knows."""
        return [frame for process, address in self.places for frame in self.frames(process, address)]

    def site(self, process: Process, address: int, stack: Iterable[int] = ()) -> Details:
        """Who has asked there: the first that is no code of CUDA's headers, of the frames as far as they are known."""
        known = (one for at in (address, *stack) for one in self.frames(process, at) if "script" not in one)
        first = self.place(process, address)
        return first if "script" in first else asker(known, words_of) or first

    def asked_at(self, process: Process, address: int, stack: Iterable[int]) -> int:
        """Whose code it is that `site` is about, where the stack was recorded."""
        places = ((at, one) for at in (address, *stack) for one in self.frames(process, at) if "script" not in one)
        found = asker(places, lambda place: words_of(place[1])) if stack else None
        return found[0] if found is not None and "script" not in self.place(process, address) else address

    def is_header_code(self, process: Process, address: int) -> bool:
        """Nothing but that, as far as is known."""
        return all(map(is_place_in_headers, self.frames(process, address)))

    def place(self, process: Process, address: int) -> Details:
        return self.places.get((process, address), NOTHING)


ADDED: Mapping[str, Callable[[References, Process, Details], None]] = {
    "place": References.add_place, "thread": References.add_thread, "object": References.add_object,
    "gpu": References.add_gpu, "clocks": References.add_clocks, "function": References.add_function,
    "kernel": References.add_kernel, "unseen": References.add_unseen, "unheard": References.add_unheard,
    HEARD: References.add_heard, REDIRECTED: References.add_redirected, "recorded": References.add_recorded,
    GAP: References.add_gap, "process": References.add_process,
}  # fmt: skip
