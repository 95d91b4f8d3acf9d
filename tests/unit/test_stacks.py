"""Which calls of a thread are over, and which have been left behind: stack pointers alone decide."""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.stacks import Open, Stacks

FUNCTION = api.load().functions["cuInit"]


def stacks(*places: tuple[int, int]) -> Stacks:
    """Open calls by (way back, stack pointer); each is of a function of its own."""
    rows = enumerate(places)
    return Stacks([Open(Call(n, "cuInit", 0.0), FUNCTION, [], 0x100 * n, back, sp) for n, (back, sp) in rows])


def numbers(calls: list[Open]) -> list[int]:
    return [one.call.number for one in calls]


def test_a_call_further_up_shows_what_was_left() -> None:
    thread = stacks((1, 900), (2, 800), (3, 700))
    assert numbers(thread.left_by(0x900, 4, 850)) == [2, 1] and numbers(thread.calls) == [0]


def test_same_height_and_way_back_is_a_tail_call() -> None:
    assert not stacks((1, 900)).left_by(0x900, 1, 900)
    assert numbers(stacks((1, 900)).left_by(0x900, 2, 900)) == [0]
    assert not stacks((1, 900)).left_by(0, 1, 900) and stacks((1, 900)).left_by(0, 1, 900, sees_jumps=False)


def test_a_call_that_is_met_twice_is_one() -> None:
    again = (0x100, 2, 800, [], ())
    assert stacks((1, 900), (2, 800)).is_met_again(*again) and not stacks().is_met_again(*again)
    for other in ((0x200, 2, 800, [], ()), (0x100, 3, 800, [], ()), (0x100, 2, 700, [], ()),
                  (0x100, 2, 800, [b"1"], ()), (0x100, 2, 800, [], (1,))):  # fmt: skip
        assert not stacks((1, 900), (2, 800)).is_met_again(*other)


def test_tail_calls_return_together() -> None:
    thread = stacks((1, 900), (2, 800), (2, 800), (3, 700))
    assert [numbers(found) for found in thread.over(2, 800)] == [[3], [2, 1]]
    assert [numbers(found) for found in thread.over(9, 800)] == [[], []] and numbers(thread.calls) == [0]


def test_a_jump_leaves_what_is_at_its_height_and_below() -> None:
    thread = stacks((1, 900), (2, 800), (3, 700))
    assert not thread.jump(650) and numbers(thread.jump(800)) == [2, 1]


def test_a_thread_that_switches_stacks() -> None:
    thread = stacks((1, 900))
    assert not thread.switch(890, 5000, is_fresh=True) and not thread.calls
    thread.calls.append(Open(Call(7, "cuInit", 0.0), FUNCTION, [], 0, 1, 4900))
    assert not thread.switch(4800, 890, is_fresh=False) and numbers(thread.calls) == [0]
    assert numbers(thread.all()) == [0, 7]
    assert not thread.switch(890, 4800, is_fresh=False) and numbers(thread.calls) == [7]
    assert numbers(thread.switch(None, 890, is_fresh=False)) == [7] and numbers(thread.calls) == [0]


def test_a_context_of_the_same_stack_is_a_jump() -> None:
    assert numbers(stacks((1, 900), (2, 800)).switch(None, 850, is_fresh=False)) == [1]
