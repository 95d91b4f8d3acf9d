"""What is concluded from the numbers of a hook library after each step of a sequence."""

from __future__ import annotations

import pytest

from gdbcuda import api
from gdbcuda.contract.books.concurrent.at_once import drift, judged_drift
from gdbcuda.contract.books.judging import Books, Judge
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.books.numbers import Observed, Said, read
from gdbcuda.contract.books.sequences import GRANULE, CallSequence
from gdbcuda.contract.books.steps import Model
from gdbcuda.contract.c_programs.building import Ran

TABLE = api.load()
FUNCTIONS = MemoryFunctions(TABLE, frozenset({"cuMemGetInfo_v2", "nvmlDeviceGetMemoryInfo"}))
INFO, NVML = "cuMemGetInfo_v2", "nvmlDeviceGetMemoryInfo"
TOTAL = 256 << 20
REFUSED = 2


def name(code: int) -> str:
    return TABLE.error_name("driver", code) or ""


def one_block() -> CallSequence:
    """Got and given back."""
    sequence = CallSequence(FUNCTIONS)
    sequence.allocate(TABLE.functions["cuMemAlloc_v2"], GRANULE)
    sequence.give_back()
    return sequence


def judged(sequence: CallSequence, *rows: tuple[int, dict[str, Said]], limit: int = 0, room: int = 0) -> list[str]:
    """``rows``: the result and what is said after each step, the start first."""
    seen = [Observed(number, result, said) for number, (result, said) in enumerate(rows)]
    books = Books(limit, room, FUNCTIONS.hooked, name)
    return [one.what for one in Judge(sequence.steps, seen, books).wrongs()]


def used(bytes: int, total: int = TOTAL) -> dict[str, Said]:
    return {INFO: Said(total - bytes, total)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0, used(0)), (0, used(GRANULE)), (0, used(0))], []),
        ([(0, used(GRANULE)), (0, used(0)), (0, used(GRANULE))],
         ["cuMemAlloc_v2 hands out memory, and cuMemGetInfo_v2 says that less is used",
          "cuMemFree_v2 gives memory back, and cuMemGetInfo_v2 says that more is used"]),
        ([(0, used(0)), (0, used(GRANULE)), (0, used(GRANULE))],
         ["cuMemFree_v2 gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken",
          "all is given back, and cuMemGetInfo_v2 does not return to the start"]),
        ([(0, used(0)), (REFUSED, used(GRANULE))],
         ["cuMemAlloc_v2 fails, and changes how much cuMemGetInfo_v2 says is used"]),
        ([(0, used(0)), (REFUSED, used(0))], []),
        ([(0, used(0)), (0, {INFO: Said(TOTAL + 1, TOTAL)}), (0, used(0))],
         ["after cuMemAlloc_v2 cuMemGetInfo_v2 says that more is free than there is",
          "cuMemAlloc_v2 hands out memory, and cuMemGetInfo_v2 says that less is used",
          "cuMemFree_v2 gives memory back, and cuMemGetInfo_v2 says that more is used"]),
        ([(0, {NVML: Said(TOTAL, TOTAL, 0)}), (0, {NVML: Said(TOTAL, TOTAL, GRANULE)}),
          (0, {NVML: Said(TOTAL, TOTAL, 0)})],
         ["after cuMemAlloc_v2 what nvmlDeviceGetMemoryInfo says does not add up"]),
    ],
)  # fmt: skip
def test_without_a_limit(rows: list[tuple[int, dict[str, Said]]], expected: list[str]) -> None:
    assert judged(one_block(), *rows) == expected


def test_what_is_held_and_not_counted() -> None:
    found = judged(one_block(), (0, used(0)), (0, used(0)), (0, used(0)), limit=TOTAL)
    assert found == ["after cuMemAlloc_v2 cuMemGetInfo_v2 does not count all that is held"]


def test_a_refusal_within_the_limit() -> None:
    rows = [(0, used(0)), (REFUSED, used(0))]
    assert judged(one_block(), *rows, limit=TOTAL, room=GRANULE) == ["cuMemAlloc_v2 refuses what is within the limit"]
    assert judged(one_block(), *rows, limit=TOTAL, room=GRANULE - 1) == []


def test_more_than_the_limit() -> None:
    rows = [(0, used(0)), (0, used(GRANULE)), (0, used(0))]
    assert judged(one_block(), *rows, limit=GRANULE - 1) == ["cuMemAlloc_v2 grants more than the limit"]
    assert judged(one_block(), *rows, limit=GRANULE) == []


def test_two_functions_that_do_not_agree() -> None:
    def both(first: int, second: int) -> dict[str, Said]:
        return {**used(first), NVML: Said(TOTAL - second, TOTAL, second)}

    rows = [(0, both(0, 0)), (0, both(GRANULE, 4 * GRANULE)), (0, both(0, 0))]
    assert judged(one_block(), *rows, limit=TOTAL) == [
        "after cuMemAlloc_v2 cuMemGetInfo_v2 and nvmlDeviceGetMemoryInfo do not agree"]  # fmt: skip
    rounded = [(0, both(0, 0)), (0, both(GRANULE, 2 * GRANULE)), (0, both(0, 0))]
    assert judged(one_block(), *rounded, limit=TOTAL) == []


def test_a_second_free_that_changes_the_numbers() -> None:
    sequence = CallSequence(FUNCTIONS)
    held = sequence.allocate(TABLE.functions["cuMemAlloc_v2"], GRANULE)
    sequence.free(held, TABLE.functions["cuMemFree_v2"], again=True)
    rows = [(0, used(GRANULE)), (0, used(2 * GRANULE)), (0, used(GRANULE)), (1, used(0))]
    assert judged(sequence, *rows)[0] == (
        "a second cuMemFree_v2 of a block fails, and changes how much cuMemGetInfo_v2 says is used")  # fmt: skip


def test_physical_memory_lives_as_long_as_its_last_mapping() -> None:
    sequence, model, live = CallSequence(FUNCTIONS), Model(), []
    sequence.map(sequence.allocate(TABLE.functions["cuMemCreate"], GRANULE))
    sequence.retain(sequence.places[0])
    sequence.give_back_handles()
    sequence.give_back()
    for step in sequence.steps:
        model.made(step)
        live.append(model.live)
    assert live == [GRANULE] * 5 + [0]


def imported(*, is_importer_first: bool) -> CallSequence:
    """A block and its importer, each given back."""
    sequence = CallSequence(FUNCTIONS)
    held = sequence.allocate(TABLE.functions["cuMemCreate"], GRANULE)
    importer = sequence.import_(held)
    for one in (importer, held) if is_importer_first else (held, importer):
        sequence.free(one, TABLE.functions["cuMemRelease"])
    return sequence


@pytest.mark.parametrize(
    ("is_importer_first", "said", "expected"),
    [
        (True, [0, 1, 1, 1, 0], []),
        (False, [0, 1, 1, 1, 0], []),  # as a driver does
        (False, [0, 1, 1, 0, 0], []),  # as who does not know of what it is
        (True, [0, 1, 2, 1, 0],
         ["cuMemImportFromShareableHandle takes no memory, and cuMemGetInfo_v2 says that more is used",
          "after cuMemRelease memory is held still, and cuMemGetInfo_v2 says that less is used"]),
        (True, [0, 1, 1, 0, 0],
         ["after cuMemRelease memory is held still, and cuMemGetInfo_v2 says that less is used",
          "cuMemRelease gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken"]),
        (False, [0, 2, 2, 1, 0],
         ["cuMemRelease gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken"]),
        (False, [0, 1, 1, 1, 1], ["all is given back, and cuMemGetInfo_v2 does not return to the start"]),
    ],
)  # fmt: skip
def test_an_imported_handle(is_importer_first: bool, said: list[int], expected: list[str]) -> None:
    rows = [(0, used(granules * GRANULE)) for granules in said]
    assert judged(imported(is_importer_first=is_importer_first), *rows) == expected


def test_who_maps_what_was_imported_keeps_it_for_the_driver_alone() -> None:
    sequence, model = CallSequence(FUNCTIONS), Model()
    held = sequence.allocate(TABLE.functions["cuMemCreate"], GRANULE)
    sequence.map(sequence.import_(held))
    sequence.free(held, TABLE.functions["cuMemRelease"])
    for step in sequence.steps:
        model.made(step)
    assert model.live == 0 and model.memory
    sequence.give_back()
    for step in sequence.steps[4:]:
        model.made(step)
    assert not model.memory


def test_a_context_takes_its_blocks_and_no_physical_memory() -> None:
    sequence, model = CallSequence(FUNCTIONS), Model()
    sequence.begin_context()
    sequence.allocate(TABLE.functions["cuMemAlloc_v2"], 3 * GRANULE)
    sequence.allocate(TABLE.functions["cuMemCreate"], GRANULE)
    sequence.end_context()
    for step in sequence.steps:
        model.made(step)
    assert model.live == GRANULE and len(sequence.blocks) == 1


def test_what_a_program_has_printed() -> None:
    first, second = read("noise\nstep 0 0\nsays cuMemGetInfo_v2 0 free 5 total 9\nstep 1 2\n"
                         "says cuMemGetInfo_v2 201 free 0 total 0\n"
                         "says nvmlDeviceGetMemoryInfo 0 total 9 free 4 used 5\n")  # fmt: skip
    assert first == Observed(0, 0, {"cuMemGetInfo_v2": Said(5, 9)})
    assert second == Observed(1, 2, {"nvmlDeviceGetMemoryInfo": Said(4, 9, 5)})


def threads_end(kept: int) -> dict[str, int]:
    """What a program with threads has said whose last number is that much above the first."""
    says = f"says {INFO} 0 free {{}} total {TOTAL}\n"
    return drift(Ran(0, "step 0 0\n" + says.format(TOTAL) + "step 1 0\n" + says.format(TOTAL - kept), ""))


@pytest.mark.parametrize(("kept", "alone", "is_told"), [
    (2 << 20, 0, True),
    (2 << 20, 4 << 20, False),  # a real driver keeps something for the stream of each thread
    (0, 2 << 20, False),
])  # fmt: skip
def test_what_the_driver_alone_keeps_of_threads_is_not_the_library_s(kept: int, alone: int, is_told: bool) -> None:
    what, _ = judged_drift(threads_end(kept), threads_end(alone), 2, TABLE.functions["cuMemAllocAsync"])
    assert bool(what) == is_told and (not what or f"{INFO} does not return to the start" in what)
