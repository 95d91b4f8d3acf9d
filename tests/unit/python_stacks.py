"""A program of Python whose threads stand still in stacks of every kind; what it says of them is compared."""

import functools
import json
import sys
import threading

gate = threading.Lock()
gate.acquire()
standing = threading.Semaphore(0)


def stand():
    standing.release()
    gate.acquire()
    gate.release()


def deep(depth):
    return deep(depth - 1) if depth else stand()


def generate():
    yield 1
    stand()
    yield 2


def through_c(_=None):
    return sorted([3, 2], key=lambda one: stand() or one)


class Größe:  # names outside of ASCII
    def __init__(self):
        stand()

    def __add__(self, other):
        return (
            [stand() for _ in range(1)]
        )

    @classmethod
    def made(cls):
        return cls()


def added():
    one = object.__new__(Größe)
    return one + 1


def reduced():
    return functools.reduce(lambda one, two: stand(), [1, 2])


def excepting():
    try:
        raise KeyError
    except KeyError:
        exec("\n\n\nstand()")


kinds = [lambda: deep(60), lambda: list(generate()), through_c, Größe.made, added, reduced, excepting]
threads = [threading.Thread(target=kind, daemon=True) for kind in kinds]
for one in threads:
    one.start()
    standing.acquire()


def stack(frame):
    rows = []
    while frame is not None:
        code = frame.f_code
        rows.append([code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)])
        frame = frame.f_back
    return rows


told = {thread: stack(frame) for thread, frame in sys._current_frames().items() if thread != threading.get_ident()}
print(json.dumps(told), flush=True)
sys.stdin.readline()
