"""The chosen cases, run for as long as they may take."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gdbcuda import elf
from gdbcuda.command_line import waiting
from gdbcuda.compare.findings import Allowed
from gdbcuda.contract.bench import LIBRARY_PATH, Bench
from gdbcuda.contract.case_report import ConformReport
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.registry import Case, load_groups
from gdbcuda.contract.running import runs
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.shell.ab.both_runs import settings
from gdbcuda.shell.conform.options import SEED, ConformOptions
from gdbcuda.shell.demo import folder
from gdbcuda.shell.hook_given import AUDIT, INJECTION, PRELOAD, hook_given, named_in, of_this_machine
from gdbcuda.text import output
from gdbcuda.text.sentences import meant

PROGRAM = "contract/linked"
MISSING = re.compile(r"error while loading shared libraries: ([^:]+): cannot open shared object file")


def run(wanted: ConformOptions, allowed: Allowed, shared: Path | None = None) -> ConformReport:
    """C programs that several runs need are built once, in a ``shared`` folder."""
    hook = checked(str(wanted.lib))
    build = built()
    with bench(hook, build, wanted, shared) as one, waiting.told("gdbcuda conform", lambda: one.so_far, is_logged=True):
        if wanted.real:
            need_driver(one)
        report = played(one, wanted, allowed)
    report.again = again(wanted)
    return report


def played(bench: Bench, wanted: ConformOptions, allowed: Allowed) -> ConformReport:
    began = time.monotonic()
    try:
        chosen = list(cases(bench, wanted.only))
    except Ended as how:
        need_libraries(str(how))
        return runs.none(bench, str(how), time.monotonic() - began)
    except KeyboardInterrupt:
        return runs.cut(bench, time.monotonic() - began)
    return runs.of(bench, chosen, wanted.seconds, allowed, wanted.jobs)


def again(wanted: ConformOptions) -> str:
    """The command for another look at one of its cases."""
    words = ["gdbcuda", "conform", str(wanted.lib), *(f"--env={one}" for one in wanted.env)]
    words += [f"--limit={wanted.limit}"] * bool(wanted.limit) + ["--real"] * wanted.real
    words += [f"--seed={wanted.seed}"] * (wanted.seed != SEED)
    return shlex.join(words)


def need_libraries(how: str) -> None:
    """`UserError` where the loader does not find what the hook library needs: that is no fault of it."""
    missing = MISSING.search(how)
    if missing:
        raise UserError(f"the loader does not find {missing[1]}, which the hook library needs: "
                        "set LD_LIBRARY_PATH to the folder of it")  # fmt: skip


def need_driver(bench: Bench) -> None:
    """`UserError` where a program does not begin without the hook library either."""
    try:
        bench.program(bench.bare)
    except Ended as how:
        raise UserError(f"--real needs a driver on this machine: a program {str(how).partition(' ')[2]}") from None


def shown(wanted: ConformOptions) -> str:
    """The C program of a case. `UserError` where there is no such case, or all is well in it."""
    with bench(checked(str(wanted.lib)), built(), wanted) as one:
        try:
            return runs.shown(one, next(iter(cases(one, [str(wanted.show)]))))
        except Ended as how:
            need_libraries(str(how))
            raise UserError(f"a program does not begin with it: {how}") from None


def cases(bench: Bench, patterns: list[str]) -> Iterator[Case]:
    """`UserError` for a glob that is of no case."""
    groups = [one for one in load_groups().values() if not (bench.is_real and one.is_prescribed)]
    for group in load_groups().values():
        if group not in groups:
            bench.note(f"{group.name}: no driver but the stand-in answers as it is told")
    bench.begin()
    asked = [one for one in groups if not patterns or any(map(one.may_have, patterns))]
    made = [case for group in asked for case in group.cases(bench)]
    chosen: set[int] = set()
    for pattern in patterns:
        found = [number for number, case in enumerate(made) if case.matches(pattern)]
        if not found and pattern not in load_groups():
            names = {*load_groups(), *(case.about for group in groups for case in group.cases(bench))}
            raise UserError(f"there is no case {pattern}{meant(pattern.split('/')[-1], names)}")
        chosen.update(found)
    yield from (case for number, case in enumerate(made) if not patterns or number in chosen)


@contextmanager
def bench(hook: str, build: str, wanted: ConformOptions, shared: Path | None = None) -> Iterator[Bench]:
    made = tempfile.mkdtemp(prefix="gdbcuda-conform-")
    given = settings(wanted.env)
    variable = named_in(elf.open(hook).exported)
    if variable in given:
        raise UserError(f"--env {variable} would take the place of the hook library: link it against the other one")
    path = given.pop(LIBRARY_PATH, "")
    one = Bench(hook, build, made, tuple(given.items()), wanted.seed, wanted.limit, is_real=wanted.real,
                library_path=path, variable=variable, shared=shared)  # fmt: skip
    try:
        yield one
    finally:
        one.close()
        one.files.restore()
        shutil.rmtree(made, ignore_errors=True)


def checked(hook: str) -> str:
    """Its absolute path, which the loader takes."""
    return of_this_machine(hook_given(hook, (PRELOAD, AUDIT, INJECTION)))


def built() -> str:
    """Where the stand-in and the programs are; they are made where they are not there."""
    where = places.clone_or_cache()
    if not places.built(PROGRAM):
        output.complain(f"gdbcuda: building the stand-in driver in {where}/shim/build ...")
    if not places.built(PROGRAM) or folder.is_old(where, PROGRAM):
        folder.built(where, "contract")
    return str(where / "shim" / "build")
