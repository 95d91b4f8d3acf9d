"""What a hook library bears: forks, signals, threads that end, small stacks, ways to be loaded, a sudden end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs.showing_program import PRELOAD
from gdbcuda.contract.life.situations import PRELOADED, SITUATIONS, Situation, Stage
from gdbcuda.contract.registry import Broken, Case, contract

MOMENTS = 5  # at which a process is killed wherever it is, beside each instruction


@contract("life", means="it bears forks, signals, threads that end, small stacks, any way to be loaded, and kill -9")
def life(bench: Bench) -> Iterator[Case]:
    stage = Stage(bench.workshop, bench.memory_functions, bench.templates / "life", bench.note, bench.is_real)
    is_preloaded = bench.variable == PRELOAD
    if not is_preloaded:
        bench.note(f"life: {bench.variable} names it, so no program is linked against it, opens it or has it twice")
    for situation in SITUATIONS:
        if is_preloaded or situation.loaded == PRELOADED:
            yield Case("life", situation.name, partial(of_situation, stage, situation))
    yield Case("life", "killed", partial(killed, stage))


def of_situation(stage: Stage, situation: Situation, bench: Bench) -> Iterable[Broken]:
    return stage.broken(situation)


def killed(stage: Stage, bench: Bench) -> Iterable[Broken]:
    dice = bench.dice("life killed")
    return stage.killed(dice.random() / 20 for _ in range(MOMENTS))
