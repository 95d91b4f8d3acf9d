"""Runs inside gdb: a fixed number of random changes to guarded breakpoints while threads call and signals arrive."""

import random

import gdb

from gdbcuda.live.guarding import guards

ROUNDS = 150
dice, stops, wrong, guarded, late = random.Random(7), 0, 0, 0, 0
inside = int(gdb.parse_and_eval("(long)&cuMemAlloc_v2 + $inside"))
signals: list[str] = []  # one a stop, "" where it was none
gdb.events.stop.connect(lambda event: signals.append(getattr(event, "stop_signal", "")))
CHOICES = ("make", "delete", "disable", "enable", "setting", "entry", "go", "go", "go", "go")


def change(what: str) -> None:
    mine = [one for one in gdb.breakpoints() if one.number > 0]
    number = dice.choice(mine).number if mine else 0
    if what == "make":
        limit = dice.choice([1 << 40, (1 << 40) + 5, 2 << 40])
        gdb.execute(f"cuda-break cuMemAlloc --in libguardhook.so if bytesize >= {limit}", to_string=True)
    elif what == "entry":
        gdb.execute(f"tbreak *{inside} if 0", to_string=True)
        made = gdb.breakpoints()[-1].number
        go()
        gdb.execute(f"delete {made}")
    elif what == "setting":
        gdb.execute("set cuda-guard " + dice.choice(["off", "auto", "auto", "auto"]))
    elif number:
        gdb.execute(f"{what} {number}")


def go() -> None:
    global stops, wrong, guarded
    gdb.execute("cuda-break cuMemAlloc --in libguardhook.so --once if bytesize >= 2T", to_string=True)
    guarded += bool(guards.PROCESSES().guards)
    go_on()
    stops += 1
    wrong += int(gdb.parse_and_eval("bytesize")) < 1 << 40


def go_on() -> None:
    """gdbserver tells late that another thread has stepped onto a deleted one (tests/decisions/links.md)."""
    global late
    while True:
        gdb.execute("continue", to_string=True)
        is_alive = gdb.selected_inferior().pid
        if not is_alive or signals[-1] != "SIGTRAP" or int(gdb.parse_and_eval("(long)$pc")) != inside:
            return
        late += 1


for _ in range(ROUNDS):
    what = dice.choice(CHOICES)
    if what == "go":
        go()
    else:
        change(what)
gdb.execute("delete")
go_on()
print(f"rounds {ROUNDS}, stops {stops > 20}, wrong stops {wrong}, guarded {guarded > stops // 2}, late {late}")
print("ended", not gdb.selected_inferior().pid, gdb.convenience_variable("_exitcode"))
