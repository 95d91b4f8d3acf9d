"""Runs in gdb: plays a session (plan.json), with the extension or, as the control, with gdb's own commands alone.

Writes what happens to a file of JSON lines: the harness reads it meanwhile, and judges it afterwards.
"""

import json
import sys

import gdb

with open(TORTURE_PLAN) as plan:  # noqa: F821 (set by the command line)
    PLAN = json.load(plan)
OURS = "plain" if PLAN["control"] else "cuda"
LINE_STEPS = ("step", "next", "until")
HELD = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGFPE", "SIGSYS")
FILE = open(PLAN["notes"], "a", buffering=1)  # noqa: SIM115 (until gdb ends)
sys.path.insert(0, PLAN["here"])
from at_stop import (  # noqa: E402 (from there)
    alive,
    comes_to_main,
    function_here,
    in_table,
    is_at_first_instruction,
    is_in_resolver,
    moment,
    numbers,
    really_there,
    standing,
    without_breakpoints,
)

NOTED = []


def note(what, **more):
    NOTED.append({"what": what, **more})
    FILE.write(json.dumps({"what": what, **more}) + "\n")


def run(command, harmless=False):
    """The error's text, or None. An error of what must work is noted as a fault."""
    try:
        gdb.execute(command)
        return None
    except gdb.error as problem:
        if not harmless:
            note("error", command=command, text=str(problem))
        return str(problem)
    except BaseException as problem:  # a KeyboardInterrupt, or a Python error in a command of ours
        note("error", command=command, text=f"{type(problem).__name__}: {problem}")
        return str(problem)


def code_here(read):
    """The bytes around the place."""
    place = int(gdb.selected_frame().pc()) - 16
    try:
        return f"{place:#x}: {read(place, 32).hex(' ')}"
    except (OSError, OverflowError, gdb.MemoryError) as problem:  # it has jumped to where nothing is
        return str(problem)


class Session:
    def __init__(self):
        self.stopped = []  # signals of the stops since the last command
        self.number = 0
        self.owner = {}  # breakpoint number -> watch
        self.hits = {}  # breakpoint number -> hits that gdb has counted
        self.counted = {}  # breakpoint number -> hits at its last change, and where that was
        self.told = {}  # (breakpoint number, thread) -> the call at which it has stopped last
        self.latest = {}  # thread -> where it has stopped last
        self.all_hits = self.all_stops = 0  # of any breakpoint
        self.ended = False  # nothing more is to be done
        self.has_ended = False  # the session's end has been played
        gdb.events.breakpoint_modified.connect(self.on_modified)
        gdb.events.stop.connect(self.on_stop)
        gdb.events.exited.connect(self.on_exit)

    # Handlers execute nothing: that would run a breakpoint's commands there and then.
    def on_stop(self, event):
        signal = getattr(event, "stop_signal", None)
        self.stopped.append(signal)
        here = {one.number for one in getattr(event, "breakpoints", ()) if one.is_valid()}
        self.all_stops += len([number for number in here if number > 0])
        numbers, now = self.newly_hit(here), moment()
        again = [self.owner[one] for one in numbers if self.is_told(one, now)]
        behind = again if self.was_elsewhere(now) else []
        note("stop", signal=signal, watches=sorted(self.owner[one] for one in numbers), again=again, behind=behind)
        if any(watch["thread"] for watch in PLAN["watches"]):
            threads = sorted((one.num, one.ptid[1]) for one in gdb.selected_inferior().threads())
            note("threads", kernel=[kernel for _, kernel in threads])

    def on_modified(self, one):
        if one.number > 0 and one.hit_count != self.counted.get(one.number, (0,))[0]:
            self.all_hits += max(0, one.hit_count - self.counted.get(one.number, (0,))[0])
            self.counted[one.number] = one.hit_count, moment()

    def is_told(self, number, now):
        """Has it stopped at that call before?"""
        thread = now and now[0]
        before, self.told[number, thread] = self.told.get((number, thread)), now
        return now is not None and before == now

    def was_elsewhere(self, now):
        """At this thread's last stop."""
        thread = now and now[0]
        before, self.latest[thread] = self.latest.get(thread), now
        return before is not None and before != now

    def newly_hit(self, here):
        """Of the watched breakpoints of this place those with a hit more than at the last stop: the event names all of
        the place, hit or not. Of a place that is left gdb counts one hit more, and does not stop, where a signal comes
        as it steps off."""
        found, now = [], moment()
        for one in gdb.breakpoints():
            if one.number in self.owner and one.hit_count != self.hits.get(one.number, 0):
                is_here = one.number in here and self.counted.get(one.number, (0, now))[1] == now
                found += [one.number] if is_here else []
                self.hits[one.number] = one.hit_count
        return found

    def size_of_call(self):
        """Of the call at which it stands, as the user would ask; for watches at the entry of one function."""
        stops = [one for one in NOTED if one["what"] == "stop"]
        for index in stops[-1]["watches"] if stops else ():
            watch = PLAN["watches"][index]
            if watch["on"] == "enter" and not watch["auto"] and watch["functions"] == [function_here()]:
                try:
                    value = int(gdb.parse_and_eval(PLAN["values"][watch["functions"][0]][PLAN["control"]]))
                except gdb.error as problem:
                    note("unread", watch=index, text=str(problem))
                else:
                    note("size", watch=index, value=value)

    def on_exit(self, event):
        code = getattr(event, "exit_code", None)
        note("exited", code=None if code is None else int(code), pid=event.inferior.pid)

    def play(self):
        for line in PLAN["setup"]:
            run(line)
        if PLAN["before"]:
            self.make_watches()
        for line in PLAN["begin"]:
            run(line)
        if not alive():
            note("not started")
            return
        note("started", pid=gdb.selected_inferior().pid)
        if not PLAN["before"]:
            self.make_watches()
        self.stopped.clear()
        self.all_hits = self.all_stops = 0
        while alive() and not self.ended:
            self.go_on()
        self.finish()

    def make_watches(self):
        for index, watch in enumerate(PLAN["watches"]):
            before = numbers()
            if watch[OURS]:
                run(watch[OURS])
            made = {one for one in numbers() - before if one > 0}
            self.owner.update(dict.fromkeys(made, index))
            note("watch", index=index, numbers=sorted(made))
            if watch["auto"]:
                for one in gdb.breakpoints():
                    if one.number in made:
                        one.commands = "silent\ncontinue"
            for line in watch["also"]:
                run(line)

    def go_on(self):
        select_living()
        if run("continue", harmless=not alive()):
            self.ended = True  # it would say the same again and again
            return
        if alive():
            self.at_stop()

    def at_stop(self):
        self.number += 1
        signal = self.stopped[-1] if self.stopped else None
        self.stopped.clear()
        self.size_of_call()
        if signal in HELD:
            self.hurt(signal)
        if self.number <= 3:
            self.look_at_code("stop")
        has_gone = self.has_ended and PLAN["end"] == "deletes"  # what is made later would not be what has gone
        for deed in [] if has_gone else PLAN["at"].get(str(self.number), []):
            for line in deed[OURS]:
                line = self.with_numbers(line)
                if line and alive():
                    note("deed", line=line)
                    self.act(line)
        if 0 < PLAN["last"] <= self.number and not self.has_ended and alive() and not is_in_resolver():
            self.has_ended = True
            self.end()
        elif self.number >= PLAN["stops"] and alive():
            note("enough")
            self.take_back()

    def act(self, line):
        if (line.startswith("delete") and is_in_resolver()) or (line == "finish" and is_at_first_instruction()):
            return
        word, _, times = line.partition(" ")
        if word in LINE_STEPS and comes_to_main(int(times or 1)):
            return
        stops = len(NOTED)
        run(line, harmless=True)
        if any(one["what"] == "stop" for one in NOTED[stops:]) and alive():
            self.size_of_call()

    def hurt(self, signal):
        there, seen = code_here(really_there), code_here(without_breakpoints)
        note("signal", signal=signal, thread=gdb.selected_thread().num, there=there, shown=seen)
        for line in ("bt 8", "x/6i $pc-6", "info registers"):
            run(line, harmless=True)

    def with_numbers(self, line):
        for index in range(len(PLAN["watches"])):
            word = f"{{{index}}}"
            if word in line:
                mine = [one for one, owner in self.owner.items() if owner == index and one in numbers()]
                return line.replace(word, str(mine[0])) if mine else ""
        return line

    def end(self):
        kind = PLAN["end"]
        if kind == "reruns" and is_over():
            return
        note("rerun" if kind == "reruns" else "end", kind=kind)
        if kind == "reruns":
            print(PLAN["again"])
            open(PLAN["out"], "w").close()
            for one in (self.hits, self.counted, self.told, self.latest):
                one.clear()  # gdb counts from 0 in each run
            run("run")
        elif kind == "deletes":
            places = standing()
            islands = islands_at(places)
            self.take_back()
            note_standing(places + in_table(), islands)
            self.look_at_code("deleted")
        elif kind == "leaves":
            self.ended = True
            why = "gdb alone" if OURS == "plain" else run("cuda-log detach", harmless=True)
            if why:
                note("not left", text=why)
                run("detach")
        elif kind in ("detaches", "kills", "quits"):
            self.ended = True
            if kind != "kills":  # quit moves no thread, detach moves those that are in a trampoline itself
                places = standing(with_newest=kind == "quits")
                note_standing(places, islands_at(places))
            if kind != "quits":
                run("detach" if kind == "detaches" else "kill")

    def take_back(self):
        run("delete")
        if OURS == "cuda":
            run("cuda-log stop", harmless=True)
            run("cuda-guards")  # as the prompt would, it does what waits for one

    def look_at_code(self, when):
        import segments

        with open(PLAN["out"], "a+") as lines:
            lines.seek(0)
            patched = [int(line.split()[2], 16) for line in lines if line.startswith("# patched ")]
        pid, but = gdb.selected_inferior().pid, segments.around(patched)
        bodies = PLAN["bodies"]
        if when == "stop" and PLAN["far"]:  # of many guards only that of the function where it stops is lifted there
            bodies = {name: body for name, body in bodies.items() if name == function_here()}
        # gdb's own stays at which it resumes a thread that a signal has caught on its way off a breakpoint
        kept = segments.places(pid, in_table()) if when == "deleted" else []
        for one in segments.changed(pid, PLAN["mine"], but, shown if when == "stop" else None):
            is_kept = one.have == b"\xcc" and one.holds(kept)
            if one.inside(bodies.values()) and not is_kept:  # between functions and behind them tests may be
                note("bytes", when=when, text=str(one))

    def finish(self):
        note("hits", without_stop=max(0, self.all_hits - self.all_stops))
        for line in PLAN["finish"] if OURS == "cuda" else ():
            run(line)
        note("finished")


def is_over():
    """The program has said what it had to: nobody would open what the next run waits for at its end."""
    with open(PLAN["out"]) as lines:
        return "# holding\n" in lines.readlines()


def shown(address, size):
    """Memory without breakpoints. The process is there, or that is a fault."""
    try:
        return without_breakpoints(address, size)
    except gdb.MemoryError as problem:  # somebody has killed the process
        note("error", command=f"read {size} bytes at {address:#x}", text=str(problem))
        raise OSError(str(problem)) from None


def note_standing(places, islands):
    note("standing", places=places + list(islands.values()), islands=list(islands))


def islands_at(places):
    import segments

    return segments.branch_islands(gdb.selected_inferior().pid, places, shown, PLAN["mine"], PLAN["bodies"].values())


def select_living():
    """As a user would: where the thread of a step ends, gdb 14 and newer have none (Command aborted, thread exited)."""
    last = next((one["text"] for one in reversed(NOTED) if one["what"] == "error"), "")
    try:
        if "thread exited" in last and alive() and gdb.selected_thread() is None:
            gdb.selected_inferior().threads()[-1].switch()
    except (gdb.error, SystemError):  # somebody has killed the process
        pass


Session().play()
